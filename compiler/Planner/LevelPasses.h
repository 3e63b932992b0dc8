// SPDX-License-Identifier: Apache-2.0
// Packings level by level, to go on from.
#pragma once
#include "compiler/Planner/GreedyWeights.h"

namespace accum::planner {

/// Packings of short passes level by level (LevelFit.h): one with each kind of stacks, or a few without, and
/// those of them that came to an end. What they take is taken from `visits`. There are none where one takes
/// much more than its part of that: `least` is what a pass over the valleys takes.
std::vector<Packing> levelPasses(std::span<const Rectangle> rectangles, const GreedyWeights &weights,
                                 const PackingEffort &effort, int64_t least, int64_t &visits);

} // namespace accum::planner
