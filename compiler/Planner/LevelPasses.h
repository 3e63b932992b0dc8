// SPDX-License-Identifier: Apache-2.0
// Packing level by level, again and again.
#pragma once
#include "compiler/Planner/GreedyWeights.h"

namespace accum::planner {

/// The lowest of some passes level by level (LevelFit.h), of height INT64_MAX where none ended. Each has a
/// part of the effort, at least `least`; there are none where all live so long that one takes too much.
Packing levelPasses(std::span<const Rectangle> rectangles, const GreedyWeights &weights,
                    const PackingEffort &effort, int64_t least);

} // namespace accum::planner
