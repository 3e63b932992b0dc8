// SPDX-License-Identifier: Apache-2.0
// Offsets for rectangles in time x address: each has a fixed interval of time and a size, and no two may
// overlap.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace accum::planner {

/// Alive in [start, end), start < end; size > 0, a multiple of the alignment (offsets are sums of sizes).
struct Rectangle {
  int start = 0, end = 0;
  int64_t size = 0;
};

struct Packing {
  std::vector<int64_t> offsets = {}; ///< per rectangle
  int64_t height = 0;                ///< the largest offset + size
  int64_t lowerBound = 0; ///< no packing is lower: the maximal load, or more where a search proved it
};

/// How long to look for a lower packing.
struct PackingEffort {
  /// A height that is low enough; the lower bound where it is higher than this.
  int64_t enough = 0;
  /// Rectangles that the exact search may look at, some 10 ns each. The result depends on it, never on the
  /// clock.
  int64_t visits = 2'000'000;
};

/// The largest sum of sizes alive at one time: no packing is lower.
int64_t maxLoad(std::span<const Rectangle> rectangles);

/// The best of a portfolio: greedy orders first, then exact search where they miss the lower bound. A
/// function of its arguments. Scales to millions of rectangles: what costs more than linear is dropped beyond
/// a budget.
Packing pack(std::span<const Rectangle> rectangles, const PackingEffort &effort = {});

} // namespace accum::planner
