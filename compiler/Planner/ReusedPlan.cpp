// SPDX-License-Identifier: Apache-2.0
// A plan from a file in place of a search.
#include "compiler/Planner/ReusedPlan.h"
#include "compiler/Planner/Quantity.h"
#include "compiler/Planner/Reasons.h"
#include "compiler/Planner/TimeModel.h"
#include "compiler/Planner/Verify.h"
#include <algorithm>
#include <fmt/format.h>

namespace accum::planner {

namespace {

/// What of the plan was made for something else; empty where it fits.
std::string difference(const Problem &problem, const DeviceProfile &profile, const Options &options,
                       int64_t budget, const Plan &plan) {
  if (plan.batch != options.batch || plan.devices != options.devices)
    return fmt::format("is for a batch of {} on {} device{}, not {} on {}", plan.batch, plan.devices,
                       plan.devices == 1 ? "" : "s", options.batch, options.devices);
  if (plan.target != profile.name)
    return fmt::format("is for target {}, not {}", plan.target, profile.name);
  if (plan.problem != problem.name)
    return fmt::format("is for `{}`, not `{}`", plan.problem, problem.name);
  if (plan.alignment != profile.alignment)
    return fmt::format("aligns to {} bytes, not {}", plan.alignment, profile.alignment);
  if (plan.shard != "none" || plan.offload != "none")
    return fmt::format("shards or offloads its state ({}, {}), which only a search plans so far", plan.shard,
                       plan.offload);
  int64_t state = 0;
  for (const FixedMemory &fixed : problem.fixed)
    state += fixed.kind == FixedKind::State ? fixed.bytes.at(plan.cut.m) : 0;
  if (plan.state != state)
    return fmt::format("has a state of {} bytes, where this model and optimizer have {}", plan.state, state);
  if (plan.counted() > budget)
    return fmt::format("takes {}, more than the {} there are", formatBytes(plan.counted()),
                       formatBytes(budget));
  Status status = verify(problem, plan);
  return status ? "" : fmt::format("does not fit this model: {}", status.error().message);
}

} // namespace

Result<Search> reusePlan(const Problem &problem, const DeviceProfile &profile, const Options &options,
                         const Plan &plan) {
  int64_t budget = options.budget.value_or(profile.memoryUsable);
  if (Status amounts = checkAmounts(problem, plan.cut.m, plan.cut.m); !amounts)
    return amounts.error();
  if (std::string what = difference(problem, profile, options, budget, plan); !what.empty())
    return Error{"the plan " + what, "other-plan"};
  if (std::none_of(plan.candidates.begin(), plan.candidates.end(), [&](const Candidate &candidate) {
        return candidate.verdict == Verdict::Chosen && candidate.cut == plan.cut;
      }))
    return Error{"the plan does not list the size that it chose", "other-plan"};
  Search search;
  search.problem = problem.name;
  search.target = profile.name;
  search.basis = plan.basis;
  search.batch = options.batch;
  search.devices = options.devices;
  search.deviceBatch = deviceBatch(options);
  search.budget = budget;
  search.memoryTotal = profile.memoryTotal;
  search.tokensPerSample = problem.tokensPerSample;
  search.candidates = plan.candidates;
  search.plan = plan;
  search.notices = {"the plan is the one given; its table of sizes is from when it was made"};
  search.memory = plan.memory;
  Result<Choice> choice = choiceOf(problem, plan);
  if (!choice)
    return choice.error();
  Problem runs = expand(problem, *choice);
  search.peak = peakMoment(runs, plan.cut.m, plan.alignment);
  search.commands = TimeModel(runs, profile, options.devices).commands(plan.cut);
  search.sharing = describeSharing({}, options.devices);
  search.recomputed = describeRecomputation(problem, TimeModel(problem, profile, options.devices), *choice);
  search.slices = describeSlices(problem, *choice, plan.cut.m);
  search.mfu = TimeModel(problem, profile, options.devices).utilisation(search.deviceBatch, plan.seconds());
  auto least = std::min_element(plan.candidates.begin(), plan.candidates.end(),
                                [](const Candidate &a, const Candidate &b) { return a.counted < b.counted; });
  search.smallest = static_cast<size_t>(least - plan.candidates.begin());
  return search;
}

} // namespace accum::planner
