// SPDX-License-Identifier: Apache-2.0
// The loss over data of its own.
#ifndef ACCUM_RUNTIME_SESSION_EVALUATION_H
#define ACCUM_RUNTIME_SESSION_EVALUATION_H

#include "runtime/session/Training.h"

namespace accum::runtime {

class Evaluation {
public:
  /// All of them outlive it.
  Evaluation(Opened &opened, Samples &samples, Training &training)
      : opened(opened), samples(samples), training(training) {}
  Evaluation(const Evaluation &) = delete;
  Evaluation &operator=(const Evaluation &) = delete;

  /// Its samples. Slug `bad-data` (exit 3) where there is none.
  Status bind(Dataset data);
  /// The same for those that each rank is given; see accum_open_options::local_batches.
  Status give(Expected<Dataset> given);
  /// The loss of all of them at once; training does not notice.
  Expected<accum_evaluation> run();
  /// See accum_set_stop.
  void stopWhere(accum_stop wants, void *of) {
    wanted = wants;
    user = of;
  }

  std::optional<double> best;   ///< the lowest loss so far
  std::optional<uint64_t> made; ///< after so many steps the latest one

private:
  Status require(const Dataset &data) const;
  Expected<accum_evaluation> runWindow(const Window &of);
  Expected<bool> isStopped();

  Opened &opened;
  Samples &samples;
  Training &training;
  std::optional<Feed> feed;
  std::optional<Share> placed;     ///< of samples that were given, all at once
  double correct = 0, counted = 0; ///< targets of the latest; NaN where nothing counts them
  accum_stop wanted = nullptr;
  void *user = nullptr;
  bool stopped = false; ///< the latest, before its end
};

} // namespace accum::runtime
#endif
