// SPDX-License-Identifier: Apache-2.0
// The files that a run leaves: weights, gradients, a profile.
#ifndef ACCUM_RUN_TRAINING_RUNRESULTS_H
#define ACCUM_RUN_TRAINING_RUNRESULTS_H

#include "runtime/accum_runtime.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

/// Of the rank that writes them. Exit codes; what went wrong has been said on stderr.
class RunResults {
public:
  RunResults(const Options &options, accum_session *session) : options(options), session(session) {}

  /// Before the first step: whether the weights can be written in the form that is asked for. An exit code,
  /// with the runtime's last error; nothing is said.
  int checkWeights() const;
  /// Whether the files will have a place.
  int check() const;
  /// The weights first: nothing else that fails may cost them. Gradients are those of a step.
  int save(bool hasGradients) const;

private:
  int saveWeights() const;
  std::vector<std::string> otherPlaces() const;
  void sayLost(const std::vector<std::string> &tried) const;

  const Options &options;
  accum_session *session;
};

struct WeightsFile {
  const std::string &path;
  bool keepOld, checkOnly = false;
};

/// Trained weights in the names, type and form that the options and the path say. An exit code; nothing is
/// said.
int writeWeights(const Options &options, accum_session *session, const WeightsFile &file);

/// Writes what stdout still holds. Where that fails, 3 instead of an exit code of 0 or 5: who reads half of
/// an output must not take it for the whole. A reader that left is no failure.
int finishOutput(int code);

} // namespace accum::run
#endif
