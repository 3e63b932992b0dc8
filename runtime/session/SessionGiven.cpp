// SPDX-License-Identifier: Apache-2.0
// Samples that a call brings along, on one rank or on several.
#include "runtime/session/Session.h"
#include <algorithm>

namespace accum::runtime {

Status Session::requireStep(const Dataset &samples) const {
  const Manifest &manifest = opened.artifact.manifest;
  int64_t count = samples.samples();
  if (count >= 1 && count / manifest.m < UINT32_MAX && (!manifest.wholeBatch || count == manifest.batch))
    return {};
  return Error{kExitFile,
               "the step is given " + std::to_string(count) + " samples, expected " +
                   (manifest.wholeBatch ? std::to_string(manifest.batch) +
                                              ", since the program relates those of its batch to each other"
                                        : "at least one"),
               "bad-data"};
}

/// What is wrong on one rank is wrong on all: nobody waits for a rank that has left.
Expected<Share> Session::shareOfGiven(const Dataset &samples) {
  auto ranks = size_t(opened.ranks->ranks()), rank = size_t(opened.ranks->rank());
  if (ranks > 1 && ownSamples) {
    std::vector<int64_t> counts(ranks);
    counts[rank] = samples.samples();
    if (Status status = opened.ranks->allGather(counts.data(), sizeof counts[0]); !status)
      return status.error();
    return Share(counts, rank, opened.artifact.manifest.m);
  }
  if (ranks > 1) {
    auto isOne = opened.ranks->isSame(samples.contents());
    if (!isOne)
      return isOne.error();
    if (!*isOne)
      return opened
          .agree(
              Error{kExitFile,
                    "the ranks are given other samples, or in another order: each is given all of a step",
                    "other-samples",
                    {"loaders that shuffle need one seed on all ranks; a sampler that deals samples out is "
                     "for local_batches, where each rank is given its own"}})
          .error();
  }
  return Share(samples.samples(), opened.artifact.manifest.m, int(ranks), int(rank), cut.rows);
}

/// Bound data stands where it stood.
Status Session::selectGiven(Expected<Dataset> samples, uint64_t step, uint64_t seed) {
  if (Status status = prepareStep(step); !status)
    return status;
  if (Status status = opened.agree(samples ? requireStep(*samples) : samples.error()); !status)
    return status;
  auto placed = shareOfGiven(*samples);
  if (!placed)
    return placed.error();
  opened.noteOnce(samples->notices());
  given.emplace(std::move(*samples), FeedOptions{.seed = seed});
  stepBatch = placed->samples;
  feeding = &*given;
  Window window = placed->windowOf(given->samples());
  feeding->select(window);
  if (opened.ranks->ranks() > 1 && ownSamples)
    return divideOwn(*given, window, *placed);
  divide(*given, window, *placed, cut.rows);
  return {};
}

Status Session::giveEvaluation(Expected<Dataset> samples) {
  if (Status status = opened.agree(samples ? requireEvaluation(*samples) : samples.error()); !status)
    return status;
  auto placed = shareOfGiven(*samples);
  if (!placed)
    return placed.error();
  if (Status status = bindEvaluation(std::move(*samples)); !status)
    return status;
  if (opened.ranks->ranks() > 1)
    evaluationShare = *placed;
  return {};
}

} // namespace accum::runtime
