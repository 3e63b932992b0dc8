// SPDX-License-Identifier: Apache-2.0
// Offsets for rectangles in time x address: each has a fixed interval of time and a size, and no two may
// overlap.
#pragma once
#include "compiler/Planner/Problem/Deadline.h"
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace accum::planner {

/// Alive in [start, end), start < end; size > 0, a multiple of the alignment (offsets are sums of sizes).
struct Rectangle {
  int start = 0, end = 0;
  int64_t size = 0;
};

/// What one stage of a packing came to.
struct PackingStage {
  std::string name;
  int64_t height; ///< the lowest so far
  double seconds; ///< wall time
};

struct Packing {
  std::vector<int64_t> offsets = {}; ///< per rectangle
  int64_t height = 0;                ///< the largest offset + size
  int64_t lowerBound = 0; ///< no packing is lower: the maximal load, or more where a search proved it
  std::vector<PackingStage> stages = {};
};

/// Notes what a stage came to, and how long it took since the one before. Of one that comes back the times
/// add up.
class StageTimer {
public:
  void add(const char *name, Packing &best);

private:
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

/// How long to look for a lower packing.
struct PackingEffort {
  /// A height that is low enough; the lower bound where it is higher than this.
  int64_t enough = 0;
  /// Rectangles that the exact search may look at, some 10 ns each. The result depends on it, never on the
  /// clock.
  int64_t visits = 2'000'000;
  uint64_t seed = 0; ///< of what is random in the searches
  /// From then on no stage begins, and each ends with what it has; the first, n log n, always runs.
  Deadline deadline = {};
};

/// The last end, 1 where there is none.
int horizonOf(std::span<const Rectangle> rectangles);

/// By moment, 0 to the last end: bytes that begin less bytes that end.
std::vector<int64_t> loadChanges(std::span<const Rectangle> rectangles);

/// The largest sum of sizes alive at one time: no packing is lower.
int64_t maxLoad(std::span<const Rectangle> rectangles);

/// The best of a portfolio: greedy orders first, then exact search where they miss the lower bound. A
/// function of its arguments. What costs more than linear is dropped beyond a budget.
Packing pack(std::span<const Rectangle> rectangles, const PackingEffort &effort = {});

} // namespace accum::planner
