// SPDX-License-Identifier: Apache-2.0
// The data of a session: what is bound, and which of its samples a step has.
#include "runtime/session/Session.h"
#include "runtime/system/Memory.h"
#include <algorithm>

namespace accum::runtime {
namespace {

Error usage(const std::string &message) { return {kExitUsage, message, "usage"}; }

} // namespace

Status Session::requireBatch(const Dataset &data) const {
  int64_t batch = artifact.manifest.batch;
  if (data.samples() >= batch)
    return {};
  return Error{kExitFile,
               "the data holds " + std::to_string(data.samples()) +
                   " samples, expected at least one global batch of " + std::to_string(batch),
               "bad-data"};
}

Status Session::bind(Dataset data, const accum_data_options &options) {
  // More would end in the kernel's out-of-memory killer instead of a sentence.
  uint64_t bytes = uint64_t(data.samples()) * sizeof(uint64_t);
  if (bytes > availableMemory())
    return Error{kExitRunFailed,
                 "the order of " + std::to_string(data.samples()) + " samples takes " + formatBytes(bytes) +
                     " of memory (" + formatBytes(availableMemory()) + " available)",
                 "memory"};
  dataset = std::move(data);
  dataOptions = options;
  leaveOutIncomplete();
  order.resize(dataset->samples());
  orderEpoch.reset();
  for (const std::string &notice : dataset->notices())
    decisions.push_back(notice);
  return {};
}

/// A program that relates the samples of its batch has no rows to spare: another number of samples is another
/// loss.
void Session::leaveOutIncomplete() {
  const Manifest &manifest = artifact.manifest;
  int64_t rest = dataset->samples() % manifest.batch;
  if (!manifest.wholeBatch || rest == 0)
    return;
  if (dataOptions.drop_last == 0)
    decisions.push_back("the program relates the " + std::to_string(manifest.batch) +
                        " samples of its batch to each other: the last " + std::to_string(rest) +
                        " of each epoch are left out (as with --drop-last)");
  dataOptions.drop_last = 1;
}

/// Nothing is known of the step yet.
void Session::beginStep() {
  squaredNorm = dataSeconds = 0;
  sawGradients = skipped = isSpike = failedInCommand = unchanged = false;
  failure.reset();
}

Status Session::selectWindow(uint64_t step) {
  beginStep();
  if (calls)
    calls->startStep(step);
  if (!dataset)
    return usage("no data is bound");
  const Manifest &manifest = artifact.manifest;
  Epochs epochs{dataset->samples(), manifest.batch, dataOptions.drop_last != 0};
  window = epochs.at(step);
  if (cut.samples > 0)
    window.samples = std::min(window.samples, cut.samples);
  if (orderEpoch != window.epoch) {
    fillOrder(order, window.epoch, dataOptions.shuffle != 0, dataOptions.seed);
    orderEpoch = window.epoch;
  }
  share.emplace(window.samples, manifest.m, collectives.ranks(), collectives.rank(), cut.rows);
  feeding = &*dataset;
  rows = order.data() + window.start;
  return {};
}

} // namespace accum::runtime
