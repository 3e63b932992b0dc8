// SPDX-License-Identifier: Apache-2.0
// Steps that are compared with each other and leave no trace: they end where the update begins.
#include "runtime/session/Agreement.h"
#include "runtime/session/Session.h"
#include "runtime/system/Clock.h"
#include <utility>

namespace accum::runtime {

Status Session::beginTrial(Expected<Dataset> given, uint64_t seed) {
  if (training.pending().calls > 0)
    return usage("steps are not tried while gradients wait for an update", {"update first"});
  Status own = given ? weights.check() : given.error();
  if (own)
    own = manifest().wholeBatch ? samples.requireBatch(*given) : samples.requireStep(*given);
  if (Status status = opened.agree(own); !status)
    return status;
  if (opened.ranks->ranks() > 1)
    if (Status status = requireSameSamples(opened, *given, seed); !status)
      return status;
  samples.keep(std::move(*given), seed);
  beforeTrial = {samples.microSteps.cut(), numbers.rate, training.sentBytes};
  return {};
}

Status Session::endTrial() {
  samples.forgetGiven();
  numbers.rate = beforeTrial.rate;
  training.sentBytes = beforeTrial.sentBytes;
  return samples.microSteps.setCut(beforeTrial.cut);
}

Expected<accum_step_result> Session::tryStep(bool forwardOnly) {
  double started = now();
  training.begin();
  samples.selectKept();
  return forwardOnly ? training.forward(0, started) : training.tryStep(started);
}

} // namespace accum::runtime
