// SPDX-License-Identifier: Apache-2.0
// Windows of bound data, and what calls bring along.
#include "runtime/session/Samples.h"
#include <algorithm>

namespace accum::runtime {

void Samples::place(uint8_t *inputs, bool each) {
  const Manifest &manifest = opened.artifact.manifest;
  areOwn = each;
  batches = {{0, manifest.batch}};
  stagings.resize(manifest.allLengths().size());
  for (size_t length = 0; length < stagings.size(); ++length)
    stagings[length].place(manifest, length, inputs);
  fillInputs = [this](MicroStep at, uint8_t *block) {
    return feeding->fill(stagingIn(at.phase), microSteps.division(), microSteps.shareIn(at.phase), at, block);
  };
}

const Staging &Samples::stagingIn(uint32_t phase) const {
  return stagings[opened.artifact.manifest.phases[phase].length];
}

Status Samples::feed(uint32_t phase, uint32_t k) {
  Status fed = opened.device->feed(microSteps.at(phase, k), fillInputs);
  return fed ? feeding->health() : fed;
}

Status Samples::setBatches(std::vector<BatchChange> changes) {
  const Manifest &manifest = opened.artifact.manifest;
  if (changes.empty() || changes.front().step != 0)
    return usage("a schedule of batches says the batch of step 0 first");
  for (size_t i = 0; i < changes.size(); ++i) {
    if (changes[i].batch < 1 || changes[i].batch / manifest.m >= UINT32_MAX)
      return usage("a schedule of batches has a batch of " + std::to_string(changes[i].batch) + " at step " +
                   std::to_string(changes[i].step) +
                   (changes[i].batch < 1 ? "" : ", which is more micro-steps than can be counted"));
    if (i > 0 && changes[i].step <= changes[i - 1].step)
      return usage("a schedule of batches has step " + std::to_string(changes[i].step) + " behind step " +
                   std::to_string(changes[i - 1].step) + ", expected ascending steps");
    if (manifest.wholeBatch && changes[i].batch != manifest.batch)
      return usage("the program relates the " + std::to_string(manifest.batch) +
                   " samples of its batch to each other: another batch needs another artifact");
  }
  batches = std::move(changes);
  return {};
}

int64_t Samples::largestBatch() const {
  return std::ranges::max_element(batches, {}, &BatchChange::batch)->batch;
}

Status Samples::requireBatch(const Dataset &data) const {
  int64_t batch = largestBatch();
  if (data.samples() >= batch)
    return {};
  return Error{kExitFile,
               "the data holds " + std::to_string(data.samples()) +
                   " samples, expected at least one global batch of " + std::to_string(batch),
               "bad-data"};
}

Status Samples::bind(Dataset data, const accum_data_options &options) {
  for (const std::string &notice : data.notices())
    opened.note(notice);
  bool dropLast = leavesOutIncomplete(data, options.drop_last != 0);
  windows.emplace(data.samples(), batches, dropLast);
  boundFeed.emplace(std::move(data), FeedOptions{options.shuffle != 0, dropLast, options.seed});
  return {};
}

/// A program that relates the samples of its batch has no rows to spare: another number of samples is another
/// loss.
bool Samples::leavesOutIncomplete(const Dataset &data, bool dropLast) {
  const Manifest &manifest = opened.artifact.manifest;
  int64_t rest = data.samples() % manifest.batch;
  if (!manifest.wholeBatch || rest == 0)
    return dropLast;
  if (!dropLast)
    opened.note("the program relates the " + std::to_string(manifest.batch) +
                " samples of its batch to each other: the last " + std::to_string(rest) +
                " of each epoch are left out (as with --drop-last)");
  return true;
}

Status Samples::requireStep(const Dataset &samples) const {
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
Expected<Share> Samples::shareOf(const Dataset &samples) {
  auto ranks = size_t(opened.ranks->ranks()), rank = size_t(opened.ranks->rank());
  if (ranks > 1 && areOwn) {
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
  return Share(samples.samples(), opened.artifact.manifest.m, int(ranks), int(rank), microSteps.cut().rows);
}

Status Samples::select(uint64_t step) {
  if (!boundFeed)
    return usage("no data is bound");
  Window window = windows->at(step);
  stepBatch = windows->batchAt(step);
  if (microSteps.cut().samples > 0)
    window.samples = std::min(window.samples, microSteps.cut().samples);
  Share own = share(window, microSteps.cut().rows);
  feeding = &*boundFeed;
  feeding->select(window);
  microSteps.divide(*boundFeed, window, own, microSteps.cut().rows);
  // Which samples of the next window are this rank's depends on their lengths.
  bool isKnown = opened.artifact.manifest.lengths.empty() || opened.ranks->ranks() == 1;
  if (microSteps.cut().samples == 0 && isKnown) {
    Window next = windows->at(step + 1);
    feeding->prepare(next, share(next));
  }
  return {};
}

/// Bound data stands where it stood.
Status Samples::give(Expected<Dataset> samples, uint64_t seed) {
  if (Status status = opened.agree(samples ? requireStep(*samples) : samples.error()); !status)
    return status;
  auto placed = shareOf(*samples);
  if (!placed)
    return placed.error();
  opened.noteOnce(samples->notices());
  given.emplace(std::move(*samples), FeedOptions{.seed = seed});
  stepBatch = placed->samples;
  feeding = &*given;
  Window window = placed->windowOf(given->samples());
  feeding->select(window);
  if (opened.ranks->ranks() > 1 && areOwn)
    return microSteps.divideOwn(*given, window, *placed);
  microSteps.divide(*given, window, *placed, microSteps.cut().rows);
  return {};
}

void Samples::keep(Dataset samples, uint64_t seed) {
  opened.noteOnce(samples.notices());
  given.emplace(std::move(samples), FeedOptions{.seed = seed});
}

void Samples::selectKept() {
  int64_t most = microSteps.cut().samples, rows = microSteps.cut().rows;
  Window window{0, 0, most > 0 ? std::min(most, given->samples()) : given->samples()};
  feeding = &*given;
  feeding->select(window);
  microSteps.divide(*given, window, share(window, rows), rows);
}

Share Samples::share(const Window &window, int64_t rows) const {
  return Share(window.samples, opened.artifact.manifest.m, opened.ranks->ranks(), opened.ranks->rank(), rows);
}

void Samples::forgetGiven() {
  feeding = nullptr;
  given.reset();
}

Status Samples::enter(Feed &feed, const Window &of, const std::optional<Share> &placed) {
  Share own = placed.value_or(share(of));
  Window window = placed ? own.windowOf(feed.samples()) : of;
  feeding = &feed;
  feeding->select(window);
  if (placed && areOwn)
    return microSteps.divideOwn(feed, window, own);
  microSteps.divide(feed, window, own);
  return {};
}

} // namespace accum::runtime
