// SPDX-License-Identifier: Apache-2.0
// Steps that are compared with each other and leave no trace: they end where the update begins.
#include "runtime/session/Session.h"
#include "runtime/system/Clock.h"
#include "runtime/system/Hash.h"
#include <algorithm>
#include <utility>

namespace accum::runtime {

Status Session::beginTrial(Expected<Dataset> samples, uint64_t seed) {
  if (pending.calls > 0)
    return usage("steps are not tried while gradients wait for an update", {"update first"});
  Status own = samples ? weights.check() : samples.error();
  if (own)
    own = opened.artifact.manifest.wholeBatch ? requireBatch(*samples) : requireStep(*samples);
  if (Status status = opened.agree(own); !status)
    return status;
  if (opened.ranks->ranks() > 1)
    if (Status status = requireSameTrial(*samples, seed); !status)
      return status;
  opened.noteOnce(samples->notices());
  given.emplace(std::move(*samples), FeedOptions{.seed = seed});
  beforeTrial = BeforeTrial{cut, rate, sentBytes};
  return {};
}

/// Of files the names and sizes.
Status Session::requireSameTrial(const Dataset &samples, uint64_t seed) {
  RunningHash facts;
  std::string identity = samples.identity();
  uint64_t contents = identity.empty() ? samples.contents() : 0;
  facts.add(identity.data(), identity.size());
  for (uint64_t number : {contents, seed})
    facts.add(&number, sizeof number);
  return requireSame("verify over the same samples", facts.value(),
                     "each is given all of them, and one seed");
}

void Session::endTrial() {
  feeding = nullptr;
  given.reset();
  BeforeTrial before = *std::exchange(beforeTrial, std::nullopt);
  cut = before.cut;
  rate = before.rate;
  sentBytes = before.sentBytes;
}

Expected<accum_step_result> Session::tryStep(bool forwardOnly) {
  double started = now();
  beginStep();
  Window window{0, 0, cut.samples > 0 ? std::min(cut.samples, given->samples()) : given->samples()};
  feeding = &*given;
  feeding->select(window);
  Share share(window.samples, opened.artifact.manifest.m, opened.ranks->ranks(), opened.ranks->rank(),
              cut.rows);
  divide(*given, window, share, cut.rows);
  if (forwardOnly)
    return forward(0, started);
  part = Part::Trial;
  auto result = runPart(0, division->steps, started);
  part = Part::Whole;
  return result;
}

} // namespace accum::runtime
