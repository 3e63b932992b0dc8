// SPDX-License-Identifier: Apache-2.0
// The greedy passes of the packing portfolio; each places the rectangles one by one in a given order.
#pragma once
#include "compiler/Planner/Packing.h"

namespace accum::planner {

/// Puts each on top of everything placed in its interval; gaps below stay. O(n log T).
Packing stackUp(std::span<const Rectangle> rectangles, std::span<const int> order);

/// Puts each into the lowest gap that holds it. O(n^2), with a small constant.
Packing firstFit(std::span<const Rectangle> rectangles, std::span<const int> order);

} // namespace accum::planner
