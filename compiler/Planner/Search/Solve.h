// SPDX-License-Identifier: Apache-2.0
// The search: every distinct micro-batch size is packed and timed, the fastest that fits is the plan.
#pragma once
#include "compiler/Planner/Problem/Plan.h"
#include "compiler/Planner/Problem/Problem.h"
#include "compiler/Planner/Search/PeakMoment.h"
#include "compiler/Planner/Time/DeviceProfile.h"
#include "compiler/Planner/Time/TimeModel.h"
#include <optional>

namespace accum::planner {

/// The best plan with one pair of --shard and --offload, or what its smallest candidate needs.
struct TriedMode {
  Sharing sharing = {};
  bool fits = false, chosen = false;
  double seconds = 0; ///< of a step, where it fits
  int64_t bytes = 0;  ///< of a device
  int64_t over = 0;   ///< by which that is too much
};

struct Search {
  std::string problem = {}, target = {}, basis = {};
  int64_t batch = 1, devices = 1, deviceBatch = 1, budget = 0;
  int64_t memoryTotal = 0; ///< of the device, 0 where unknown
  int64_t tokensPerSample = 0;
  double mfu =
      0; ///< of the plan: matrix flops of the step over what the device peaks at in its time; 0 if unknown
  /// Largest m first. For each size its fastest candidate that fits, or the one that needs least. In addition
  /// the one that needs least of all, and the chosen size without recomputation, if they differ from those.
  std::vector<Candidate> candidates = {};
  std::optional<Plan> plan = {}; ///< absent where nothing fits
  /// What the plan recomputes, for people: `24 of 148 commands (attention, gelu)`; empty where nothing.
  std::string recomputed = {};
  std::string slices = {}; ///< what runs in slices of samples, in words; empty: nothing
  /// How the plan spreads its state, for people: `not sharded, 1 all-reduce per step`.
  std::string sharing = {};
  std::vector<TriedMode> modes = {}; ///< that `auto` compared, in order of preference
  std::string settled = {}; ///< why the size was decided before the search, in words; empty: it was asked for
  size_t smallest = 0;      ///< the candidate that needs the least
  /// Memory and peak of the plan, or of the smallest candidate where nothing fits.
  std::vector<MemoryLine> memory = {};
  PeakMoment peak = {};
  std::vector<CommandTime> commands = {}; ///< of the plan's step, the longest first
  std::vector<std::string> notices = {};
  double seconds = 0; ///< wall time of the search itself
};

/// Searches a problem that passed `check`. An Error is a contradiction in the options or a size beyond 2^60
/// bytes; that nothing fits is a Search without a plan. Among the pairs of a size and an alternative that fit
/// and are as fast as the fastest, within the time model's tolerance, the one with the least memory wins
/// (`Options::prefer`). Neither the alternatives nor the offsets depend on the budget, so that a larger
/// budget never gives a slower plan, nor a smaller one a higher peak. The caller runs `verify` on the plan.
///
/// Slots, peak and times of a plan are those of the problem that runs: `problemThatRuns(problem, plan)`.
Result<Search> solve(const Problem &problem, const DeviceProfile &profile, const Options &options);

/// What `solve` would choose with each of some budgets instead of that of the options, from one search;
/// nothing where nothing fits.
Result<std::vector<std::optional<Candidate>>> chooseFor(const Problem &problem, const DeviceProfile &profile,
                                                        const Options &options,
                                                        const std::vector<int64_t> &budgets);

} // namespace accum::planner
