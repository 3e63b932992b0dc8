// SPDX-License-Identifier: Apache-2.0
// The data of a session: what is bound, which of its samples a step has, and what calls bring along.
#ifndef ACCUM_RUNTIME_SESSION_SAMPLES_H
#define ACCUM_RUNTIME_SESSION_SAMPLES_H

#include "runtime/accum_runtime.h"
#include "runtime/session/MicroSteps.h"

namespace accum::runtime {

class Samples {
public:
  /// Which outlives it.
  explicit Samples(Opened &opened) : microSteps(opened), opened(opened) {}
  Samples(const Samples &) = delete;
  Samples &operator=(const Samples &) = delete;

  MicroSteps microSteps; ///< of the rows that come next

  /// Where rows are written. `each`: what a rank is given are its own samples alone.
  void place(uint8_t *inputs, bool each);
  /// Before data is bound. Slug `usage` (exit 2) for what is no schedule.
  Status setBatches(std::vector<BatchChange> changes);
  const std::vector<BatchChange> &schedule() const { return batches; }
  int64_t largestBatch() const;
  /// Of the latest step, or the first one.
  int64_t batch() const { return stepBatch > 0 ? stepBatch : batches.front().batch; }
  /// Slug `bad-data` (exit 3) where the data has fewer samples than a batch.
  Status requireBatch(const Dataset &data) const;
  /// The same where no step can have this number of samples.
  Status requireStep(const Dataset &samples) const;
  Status bind(Dataset dataset, const accum_data_options &options);
  /// What is bound, and its windows; null before.
  const Feed *bound() const { return boundFeed ? &*boundFeed : nullptr; }
  const Epochs *epochs() const { return windows ? &*windows : nullptr; }

  /// Which rows come next: of bound data those of a step; those of a call, while bound data stands where it
  /// stood; those of a part of other data, on all ranks, or this rank's share.
  Status select(uint64_t step);
  Status give(Expected<Dataset> samples, uint64_t seed);
  Status enter(Feed &feed, const Window &of, const std::optional<Share> &placed);
  /// For several steps over the same samples.
  void keep(Dataset samples, uint64_t seed);
  void selectKept();
  void forgetGiven();
  /// What this rank has of samples that all, or each, are given. What is wrong on one rank is wrong on all.
  Expected<Share> shareOf(const Dataset &samples);

  /// The rows of a micro-step into the buffers.
  Status feed(uint32_t phase, uint32_t k);
  const Staging &stagingIn(uint32_t phase) const;
  const Staging &largestStaging() const { return stagings.back(); }
  std::optional<uint64_t> seed() const {
    return feeding ? std::optional(feeding->options().seed) : std::nullopt;
  }

private:
  bool leavesOutIncomplete(const Dataset &data, bool dropLast);
  Share share(const Window &window, int64_t rows = 0) const;

  Opened &opened;
  std::vector<Staging> stagings; ///< by length
  Device::FillInputs fillInputs;
  std::optional<Feed> boundFeed, given; ///< given: for one step, or kept
  Feed *feeding = nullptr;              ///< the one that rows are read from
  bool areOwn = false;                  ///< what a rank is given are its own alone
  std::vector<BatchChange> batches;     ///< the artifact's, unless others are set
  std::optional<Epochs> windows;        ///< of the bound data
  int64_t stepBatch = 0;                ///< of the latest step
};

} // namespace accum::runtime
#endif
