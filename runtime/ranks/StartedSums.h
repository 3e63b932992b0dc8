// SPDX-License-Identifier: Apache-2.0
// Which part of the gradients a device has begun to all-reduce in this step.
#ifndef ACCUM_RUNTIME_RANKS_STARTEDSUMS_H
#define ACCUM_RUNTIME_RANKS_STARTEDSUMS_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace accum::runtime {

class StartedSums {
public:
  struct Range {
    uint64_t from, bytes;
    uint64_t end() const { return from + bytes; }
  };

  void clear() { ranges.clear(); }
  bool empty() const { return ranges.empty(); }
  /// Ranges do not overlap.
  void add(Range range) {
    ranges.insert(std::upper_bound(ranges.begin(), ranges.end(), range,
                                   [](const Range &a, const Range &b) { return a.from < b.from; }),
                  range);
  }
  const std::vector<Range> &all() const { return ranges; }

  /// body(Range), a Status, for each part of `whole` that is in none of the ranges, in order, until one
  /// fails.
  template <typename Body> auto forRest(Range whole, Body &&body) const -> decltype(body(whole)) {
    uint64_t at = whole.from;
    for (const Range &range : ranges) {
      if (range.from >= whole.end() || range.end() <= at)
        continue;
      if (range.from > at)
        if (auto status = body(Range{at, range.from - at}); !status)
          return status;
      at = range.end();
    }
    if (at < whole.end())
      return body(Range{at, whole.end() - at});
    return {};
  }

private:
  std::vector<Range> ranges; ///< sorted
};

} // namespace accum::runtime
#endif
