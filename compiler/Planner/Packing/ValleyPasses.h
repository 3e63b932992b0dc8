// SPDX-License-Identifier: Apache-2.0
// The valley passes of the packing portfolio, in the order in which they are tried.
#pragma once
#include "compiler/Planner/Packing/GreedyWeights.h"
#include <vector>

namespace accum::planner {

/// A valley pass: what it places first, and how close to walls (scale in mean lengths).
struct ValleyPass {
  Preference preference;
  double scale = 0, both = 0;
};

/// The first of those for few rectangles, which are taken before anything else.
inline constexpr size_t kQuickPasses = 6;

std::vector<ValleyPass> valleyPasses();

} // namespace accum::planner
