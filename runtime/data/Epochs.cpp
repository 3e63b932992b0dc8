// SPDX-License-Identifier: Apache-2.0
// Segments of one batch, found by step, and counted in windows.
#include "runtime/data/Epochs.h"
#include <algorithm>

namespace accum::runtime {

Epochs::Epochs(int64_t samples, int64_t batch, bool dropLast)
    : Epochs(samples, std::vector<BatchChange>{{0, batch}}, dropLast) {}

Epochs::Epochs(int64_t samples, const std::vector<BatchChange> &changes, bool dropLast)
    : samples(samples), dropLast(dropLast) {
  for (const BatchChange &change : changes) {
    Segment next{change.step, change.batch, 0, 0};
    if (!segments.empty()) {
      Window last = within(segments.back(), change.step - 1);
      uint64_t end = last.start + uint64_t(last.samples);
      bool isOver = end >= uint64_t(samples);
      next.epoch = last.epoch + isOver;
      next.start = isOver ? 0 : end;
    }
    segments.push_back(next);
  }
}

const Epochs::Segment &Epochs::segmentOf(uint64_t step) const {
  auto behind = std::ranges::upper_bound(segments, step, {}, &Segment::step);
  return *std::prev(behind);
}

/// Of so many positions up to the end of an epoch.
uint64_t Epochs::windowsIn(int64_t positions, int64_t batch) const {
  return uint64_t(dropLast ? positions / batch : (positions + batch - 1) / batch);
}

Window Epochs::within(const Segment &segment, uint64_t step) const {
  uint64_t number = step - segment.step, batch = uint64_t(segment.batch);
  uint64_t first = windowsIn(samples - int64_t(segment.start), segment.batch);
  uint64_t epoch = segment.epoch, start = segment.start;
  if (number >= first) {
    uint64_t perEpoch = windowsIn(samples, segment.batch);
    number -= first;
    epoch += 1 + number / perEpoch;
    number %= perEpoch;
    start = 0;
  }
  start += number * batch;
  return {epoch, start, std::min<int64_t>(segment.batch, samples - int64_t(start))};
}

Window Epochs::at(uint64_t step) const { return within(segmentOf(step), step); }

uint64_t Epochs::stepsOf(uint64_t epochs) const {
  for (size_t i = 0; i < segments.size(); ++i) {
    const Segment &segment = segments[i];
    if (segment.epoch >= epochs)
      return segment.step;
    uint64_t first = windowsIn(samples - int64_t(segment.start), segment.batch), rest = 0, steps = 0;
    bool isLarge =
        __builtin_mul_overflow(epochs - segment.epoch - 1, windowsIn(samples, segment.batch), &rest) ||
        __builtin_add_overflow(segment.step + first, rest, &steps);
    if (i + 1 == segments.size())
      return isLarge ? UINT64_MAX : steps;
    // At the end itself the next batch decides: a smaller one may fit into what is left of the epoch.
    if (!isLarge && steps < segments[i + 1].step)
      return steps;
  }
  return UINT64_MAX;
}

} // namespace accum::runtime
