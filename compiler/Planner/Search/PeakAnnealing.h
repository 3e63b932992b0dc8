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

/// Walks at random from `start`, by peak alone: what a front of time and peak leaves out
/// as slow is often on the way to what is lowest. Most steps change what is there at the fullest moment.
/// Returns each choice that was lower than `start` and all before it, the lowest last.
std::vector<Choice> annealPeaks(const Problem &problem, const Recomputation &flow, const LoadModel &loads,
                                const Decisions &decisions, const Choice &start,
                                const PeakAnnealingOptions &asked);

} // namespace accum::planner
