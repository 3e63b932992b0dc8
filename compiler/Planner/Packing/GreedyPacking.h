// SPDX-License-Identifier: Apache-2.0
// The greedy passes of the packing portfolio; each places the rectangles one by one in a given order.
#pragma once
#include "compiler/Planner/Packing/Packing.h"

namespace accum::planner {

/// Puts each on top of everything placed in its interval, what has an offset first; gaps below stay. O(n log
/// T). `restrictions` is empty, or one per rectangle.
Packing stackUp(std::span<const Rectangle> rectangles, std::span<const int> order,
                std::span<const Restriction> restrictions = {});

/// Puts each into the lowest gap that holds it; what has an offset stands there from the start. O(n^2), with
/// a small constant. Ends with a height of INT64_MAX where the deadline passes. `restrictions` is empty, or
/// one per rectangle.
Packing firstFit(std::span<const Rectangle> rectangles, std::span<const int> order, Deadline deadline = {},
                 std::span<const Restriction> restrictions = {});

} // namespace accum::planner
