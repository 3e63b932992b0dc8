// SPDX-License-Identifier: Apache-2.0
// Simulated annealing for choices with a lower peak, whatever time they take.
#pragma once
#include "compiler/Planner/Problem/Deadline.h"
#include "compiler/Planner/Search/Decisions.h"
#include "compiler/Planner/Search/LoadModel.h"

namespace accum::planner {

/// Where to look, and how long.
struct PeakAnnealingOptions {
  int64_t m = 0;
  int64_t looks = 0; ///< choices looked at
  Deadline deadline = {};
};

/// Random moves from `start`, judged by peak alone: the path to the lowest peak often leads over choices that
/// are too slow for a front of time and peak. Most moves change what is alive at the fullest moment. Returns
/// each choice that was lower than `start` and all before it, the lowest last.
std::vector<Choice> annealPeaks(const Problem &problem, const Recomputation &flow, const LoadModel &loads,
                                const Decisions &decisions, const Choice &start,
                                const PeakAnnealingOptions &asked);

} // namespace accum::planner
