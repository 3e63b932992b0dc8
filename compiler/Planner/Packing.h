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
};

/// The largest sum of sizes alive at one time: no packing is lower.
int64_t maxLoad(std::span<const Rectangle> rectangles);

/// The best of a portfolio of greedy orders, stopped as soon as one reaches the lower bound. A function of
/// the rectangles alone. Scales to millions of rectangles: orders whose cost is quadratic are dropped beyond
/// a budget.
Packing pack(std::span<const Rectangle> rectangles);

} // namespace accum::planner
