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
  double room = 0; ///< of the clock that gaps are measured by; 0: time itself
};

/// The first of those for few rectangles, which are taken before anything else.
inline constexpr size_t kQuickPasses = 7;

/// `many`: beyond what exact search takes, where variations follow.
std::vector<ValleyPass> valleyPasses(bool many);

} // namespace accum::planner
