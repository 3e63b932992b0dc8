// SPDX-License-Identifier: Apache-2.0
// The moment of a step at which the scratch holds most, and what it holds then.
#pragma once
#include "compiler/Planner/Problem/Plan.h"
#include "compiler/Planner/Problem/Problem.h"

namespace accum::planner {

struct PeakTensor {
  std::string label = {};
  BufferKind kind = BufferKind::Activation;
  int64_t bytes = 0; ///< aligned, as it counts
};

struct PeakMoment {
  int command = kNoIndex; ///< index of the first command at which the load is largest
  std::string where = {}; ///< that command, for people: `micro-step, at lm_head (linear_cross_entropy_fwd)`
  int64_t bytes = 0;      ///< the load: the sum over `tensors`
  std::vector<PeakTensor> tensors = {}; ///< largest first; a storage that several buffers share counts once
};

PeakMoment peakMoment(const Problem &problem, int64_t m, int64_t alignment);

/// The tensors of a plan's peak.
inline PeakMoment peakTensors(const Problem &problem, const Plan &plan) {
  return peakMoment(problem, plan.cut.m, plan.alignment);
}

} // namespace accum::planner
