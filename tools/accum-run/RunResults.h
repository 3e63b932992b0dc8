// SPDX-License-Identifier: Apache-2.0
// The files that a run leaves: weights, gradients, a profile.
#ifndef ACCUM_RUN_RUNRESULTS_H
#define ACCUM_RUN_RUNRESULTS_H

#include "runtime/accum_runtime.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

/// Of the rank that writes them. Exit codes; what went wrong has been said on stderr.
class RunResults {
public:
  RunResults(const Options &options, accum_session *session) : options(options), session(session) {}

  /// Before the first step: whether they will have a place.
  int check() const;
  /// The weights first: nothing else that fails may cost them. Gradients are those of a step.
  int save(bool hasGradients) const;

private:
  int saveWeights() const;

  const Options &options;
  accum_session *session;
};

} // namespace accum::run
#endif
