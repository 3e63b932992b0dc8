// SPDX-License-Identifier: Apache-2.0
// The search: every distinct micro-batch size is packed and timed, the fastest that fits is the plan.
#pragma once
#include "compiler/Planner/DeviceProfile.h"
#include "compiler/Planner/PeakMoment.h"
#include "compiler/Planner/Plan.h"
#include "compiler/Planner/Problem.h"
#include <optional>

namespace accum::planner {

struct Search {
  std::string problem = {}, target = {}, basis = {};
  int64_t batch = 1, devices = 1, deviceBatch = 1, budget = 0;
  int64_t memoryTotal = 0; ///< of the device, 0 where unknown
  int64_t tokensPerSample = 0;
  double mfu =
      0; ///< of the plan: matrix flops of the step over what the device peaks at in its time; 0 if unknown
  std::vector<Candidate> candidates = {}; ///< largest m first
  std::optional<Plan> plan = {};          ///< absent where nothing fits
  size_t smallest = 0;                    ///< the candidate that needs the least
  /// Memory and peak of the plan, or of the smallest candidate where nothing fits.
  std::vector<MemoryLine> memory = {};
  PeakMoment peak = {};
  std::vector<std::string> notices = {};
  double seconds = 0; ///< wall time of the search itself
};

/// Searches a problem that passed `check`. An Error is a contradiction in the options or a size beyond 2^60
/// bytes; that nothing fits is a Search without a plan. Among the candidates that fit the fastest wins, ties
/// go to less memory. The offsets of a size do not depend on the budget, so that a larger budget never gives
/// a slower plan. The caller runs `verify` on the plan.
Result<Search> solve(const Problem &problem, const DeviceProfile &profile, const Options &options);

} // namespace accum::planner
