// SPDX-License-Identifier: Apache-2.0
// The data of a session: what is bound, and which of its samples a step has.
#include "runtime/session/Session.h"
#include <algorithm>
#include <utility>

namespace accum::runtime {
Status Session::setBatches(std::vector<BatchChange> changes) {
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

int64_t Session::largestBatch() const {
  return std::ranges::max_element(batches, {}, &BatchChange::batch)->batch;
}

Status Session::requireBatch(const Dataset &data) const {
  int64_t batch = largestBatch();
  if (data.samples() >= batch)
    return {};
  return Error{kExitFile,
               "the data holds " + std::to_string(data.samples()) +
                   " samples, expected at least one global batch of " + std::to_string(batch),
               "bad-data"};
}

Status Session::bind(Dataset data, const accum_data_options &options) {
  for (const std::string &notice : data.notices())
    opened.note(notice);
  bool dropLast = leavesOutIncomplete(data, options.drop_last != 0);
  windows.emplace(data.samples(), batches, dropLast);
  feed.emplace(std::move(data), FeedOptions{options.shuffle != 0, dropLast, options.seed});
  return {};
}

/// A program that relates the samples of its batch has no rows to spare: another number of samples is another
/// loss.
bool Session::leavesOutIncomplete(const Dataset &data, bool dropLast) {
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

/// Nothing is known of the step yet.
void Session::beginStep() {
  guard.beginStep();
  dataSeconds = offloadSeconds = 0;
  sentBefore = opened.ranks->sentBytes();
  skipped = isSpike = failedInCommand = unchanged = false;
  failure.reset();
}

Status Session::prepareStep(uint64_t step) {
  if (!std::exchange(hasBegun, true))
    if (Status status = requireOneRun(step); !status)
      return status;
  beginStep();
  if (calls)
    calls->startStep(step);
  return weights.check();
}

/// Of a window whose share, of one length, is this: then nothing is allocated.
void Session::divide(const Feed &of, const Window &window, const Share &share, int64_t rows) {
  std::vector<uint8_t> needs = of.needsOf(window, 0, window.samples);
  if (cut.longest)
    std::ranges::fill(needs, uint8_t(opened.artifact.manifest.lengths.size() - 1));
  if (!needs.empty())
    division.emplace(needs, opened.artifact.manifest.lengths, opened.ranks->ranks(), opened.ranks->rank(),
                     rows);
  else if (division)
    division->take(share);
  else
    division.emplace(share);
}

/// Each rank knows the lengths of its own samples, and all need as many micro-steps of each.
Status Session::divideOwn(const Feed &of, const Window &window, const Share &share) {
  const std::vector<LengthSpec> &lengths = opened.artifact.manifest.lengths;
  if (lengths.empty()) {
    divide(of, window, share);
    return {};
  }
  std::vector<uint8_t> needs = of.needsOf(window, share.begin, share.end);
  std::vector<int64_t> most = Division::countsOf(needs, lengths.size());
  Status status = opened.ranks->allReduce(most.data(), most.size(), ACCUM_I64, ACCUM_MAX);
  if (status)
    division.emplace(needs, most, lengths, share);
  return status;
}

Status Session::selectWindow(uint64_t step) {
  if (Status status = prepareStep(step); !status)
    return status;
  if (!feed)
    return usage("no data is bound");
  Window window = windows->at(step);
  stepBatch = windows->batchAt(step);
  if (cut.samples > 0)
    window.samples = std::min(window.samples, cut.samples);
  Share share(window.samples, opened.artifact.manifest.m, opened.ranks->ranks(), opened.ranks->rank(),
              cut.rows);
  feeding = &*feed;
  feeding->select(window);
  divide(*feed, window, share, cut.rows);
  // Which samples of the next window are this rank's depends on their lengths.
  bool isKnown = opened.artifact.manifest.lengths.empty() || opened.ranks->ranks() == 1;
  if (cut.samples == 0 && isKnown) {
    Window next = windows->at(step + 1);
    feeding->prepare(
        next, Share(next.samples, opened.artifact.manifest.m, opened.ranks->ranks(), opened.ranks->rank()));
  }
  return {};
}

} // namespace accum::runtime
