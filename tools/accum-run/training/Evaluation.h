// SPDX-License-Identifier: Apache-2.0
// When the loss over other data is taken, and what is said of it.
#ifndef ACCUM_RUN_TRAINING_EVALUATION_H
#define ACCUM_RUN_TRAINING_EVALUATION_H

#include "tools/accum-run/records/RunRecorder.h"

namespace accum::run {

/// Of one run. Every rank has one, and all evaluate together.
class Evaluator {
public:
  Evaluator(const Options &options, accum_session *session) : options(options), session(session) {}

  /// Says which weights are evaluated and saved, and opens and checks the data, where there is some. An exit
  /// code.
  int bind();
  /// Every --eval-every steps, and behind the last one.
  bool isDue(uint64_t done, bool isLast) const;
  /// Behind `done` steps. An exit code. A loss that is not finite is no failure: training decides by its own.
  /// Nothing is found where the run is asked to stop meanwhile.
  int run(uint64_t done, std::optional<Evaluation> &found);
  /// The weights of the lowest loss, where --best wants them; on one rank. They appear whole or not at all.
  void keepBest(const Evaluation &found);
  /// Of the latest weights that were kept: an exit code, 0 where they were written.
  int failure() const { return failed; }

private:
  const Options &options;
  accum_session *session;
  int failed = 0;
};

/// Without the number of step 0, which is before training.
///
///     eval     step 100: loss 3.2101, perplexity 24.784; 200 samples, 25400 targets
std::string describe(const Evaluation &found);

} // namespace accum::run
#endif
