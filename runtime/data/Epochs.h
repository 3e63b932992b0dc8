// SPDX-License-Identifier: Apache-2.0
// How the windows of optimizer steps follow each other through a data set, where their size may change. Plain
// arithmetic, no data.
#ifndef ACCUM_RUNTIME_DATA_EPOCHS_H
#define ACCUM_RUNTIME_DATA_EPOCHS_H

#include <cstdint>
#include <vector>

namespace accum::runtime {

/// The samples of one optimizer step, in order; at most the global batch.
struct Window {
  uint64_t epoch, start; ///< positions [start, start + samples) of that epoch's order
  int64_t samples;
};

/// From optimizer step `step` on, counted from 0, the global batch is `batch`.
struct BatchChange {
  uint64_t step;
  int64_t batch;
  bool operator==(const BatchChange &) const = default;
};

/// A window begins where the one before it ended, also where its size is another, and never reaches over the
/// end of an epoch: the last one of it may be incomplete. With `dropLast` it is left out, by the size that
/// the window would have had.
class Epochs {
public:
  Epochs(int64_t samples, int64_t batch, bool dropLast);
  /// `changes`: ascending, the first at step 0, no batch larger than `samples`.
  Epochs(int64_t samples, const std::vector<BatchChange> &changes, bool dropLast);

  /// Step counts from 0 over all epochs.
  Window at(uint64_t step) const;
  int64_t batchAt(uint64_t step) const { return segmentOf(step).batch; }
  /// Steps until so many epochs are over; UINT64_MAX where that is no number of 64 bits.
  uint64_t stepsOf(uint64_t epochs) const;
  /// Windows of the first epoch.
  int64_t windows() const { return int64_t(stepsOf(1)); }

private:
  /// Steps of one batch, and the place at which they begin.
  struct Segment {
    uint64_t step;
    int64_t batch;
    uint64_t epoch, start;
  };
  const Segment &segmentOf(uint64_t step) const;
  uint64_t windowsIn(int64_t positions, int64_t batch) const;
  Window within(const Segment &segment, uint64_t step) const;

  int64_t samples;
  bool dropLast;
  std::vector<Segment> segments;
};

} // namespace accum::runtime
#endif
