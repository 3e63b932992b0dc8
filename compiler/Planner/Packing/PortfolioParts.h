// SPDX-License-Identifier: Apache-2.0
// What the portfolios of free and of restricted rectangles share.
#pragma once
#include "compiler/Planner/Packing/EvictionSearch.h"
#include "compiler/Planner/Packing/GreedyWeights.h"

namespace accum::planner {

/// Rectangles beyond which the exact search is not tried.
constexpr size_t kMaxSearched = 2000;
/// Rectangles beyond which single moves are not tried: one looks at all that live at the same time.
constexpr size_t kMaxEvicted = 50'000;
/// What first fit places first.
constexpr Preference kPreferences[] = {{1, 1}, {1, 0}, {0, 1}, {2, 1}, {1, 2}};
/// Stacks of nested lifetimes have no gaps.
constexpr Preference kStacked = {1, 0};

/// Lowers a packing step by step, as long as each step is found within what is left of the effort.
void lowerByEvictions(EvictionSearch &eviction, std::span<const Rectangle> rectangles, int64_t visits,
                      int64_t enough, Packing &best);

} // namespace accum::planner
