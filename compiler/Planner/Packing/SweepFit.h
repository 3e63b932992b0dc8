// SPDX-License-Identifier: Apache-2.0
// A packing in order of time, the way an allocator works: what no greedy pass by weight can afford to look
// at.
#pragma once
#include "compiler/Planner/Packing/Packing.h"

namespace accum::planner {

/// Puts each, when its life begins, into the tightest gap between what lives then, or on top. O(n log n).
/// Where some are given an offset: into the lowest gap between all that it will live with, which takes as
/// much longer as there are of these; ends with a height of INT64_MAX where that is too much. `restrictions`
/// is empty, or one per rectangle.
Packing sweepFit(std::span<const Rectangle> rectangles, std::span<const Restriction> restrictions = {});

} // namespace accum::planner
