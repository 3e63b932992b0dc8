// SPDX-License-Identifier: Apache-2.0
// A plan from a file in place of a search.
#include "compiler/Planner/Search/ReusedPlan.h"
#include "base/FormatBytes.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Planner/Search/MemoryLines.h"
#include "compiler/Planner/Search/Reasons.h"
#include "compiler/Planner/Sharing/Sharing.h"
#include "compiler/Planner/Time/TimeModel.h"
#include "compiler/Planner/Verify/Verify.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accum::planner {

namespace {

Error other(const std::string &what) { return {"the plan " + what, "other-plan"}; }

std::vector<FixedMemory> sharedMemory(const Problem &problem, const Plan &plan, const Sharing &sharing) {
  UnitMemory units = unitMemory(problem, sharing, plan.devices, plan.room);
  return planner::sharedMemory(problem, sharing, plan.devices, units);
}

/// What of the plan was made for something else; empty where it fits.
std::string difference(const Problem &problem, const DeviceProfile &profile, const Options &options,
                       const Plan &plan, const Sharing &sharing) {
  if (plan.batch != options.batch || plan.devices != options.devices)
    return fmt::format("is for a batch of {} on {} device{}, not {} on {}", plan.batch, plan.devices,
                       plan.devices == 1 ? "" : "s", options.batch, options.devices);
  if (plan.target != profile.name)
    return fmt::format("is for target {}, not {}", plan.target, profile.name);
  if (plan.problem != problem.name)
    return fmt::format("is for `{}`, not `{}`", plan.problem, problem.name);
  if (plan.alignment != profile.alignment)
    return fmt::format("aligns to {} bytes, not {}", plan.alignment, profile.alignment);
  // Where the command line names a way it is the plan's; elsewhere the plan's is taken.
  for (auto [flag, asked, planned] : {std::tuple("--shard", options.shard, plan.shard),
                                      std::tuple("--offload", options.offload, plan.offload)})
    if (asked != "none" && asked != planned)
      return fmt::format("has {} {}, not {}", flag, planned, asked);
  int64_t state = 0;
  for (const FixedMemory &fixed : sharedMemory(problem, plan, sharing))
    state += fixed.kind == FixedKind::State ? fixed.bytes.at(plan.cut.m) : 0;
  if (plan.state != state)
    return fmt::format("has a state of {} bytes, where this model and optimizer have {}", plan.state, state);
  Status status = verify(problem, plan);
  return status ? "" : fmt::format("does not fit this model: {}", status.error().message);
}

/// The row of the table that the plan is; null where there is none, or several claim to be.
const Candidate *chosenRow(const Plan &plan) {
  const Candidate *chosen = nullptr;
  for (const Candidate &candidate : plan.candidates) {
    if (candidate.verdict != Verdict::Chosen)
      continue;
    if (chosen || candidate.cut != plan.cut)
      return nullptr;
    chosen = &candidate;
  }
  return chosen;
}

/// Lines of memory and time by the profile at hand: the file's may be from another machine, or older.
void measureAnew(const Problem &problem, const Problem &runs, const DeviceProfile &profile,
                 const Sharing &sharing, const Candidate &row, Search &search) {
  Plan &plan = *search.plan;
  plan.basis = profile.basis;
  plan.budget = search.budget;
  search.peak = peakMoment(runs, plan.cut.m, plan.alignment);
  plan.lowerBound = search.peak.bytes;
  plan.memory =
      memoryLines(problem, sharedMemory(problem, plan, sharing), profile, plan.devices, row, search.peak);
  Problem own = sharedProblem(problem, sharing, plan.devices);
  TimeModel asked(own, profile, plan.devices), real(runs, profile, plan.devices);
  Concurrent beside = asked.concurrent(plan.cut, sharing);
  beside.units = real.unitsAt(plan.cut.m, sharing, plan.room);
  plan.time = real.step(plan.cut, sharing, beside);
  search.commands = real.commands(plan.cut);
  search.mfu = real.utilisation(search.deviceBatch, plan.seconds());
  search.memory = plan.memory;
}

/// The table of sizes stays where nothing that it compares has changed. Times, memory or a budget of today
/// beside those of another day would say that one size is faster when it is only newer.
void keepTable(Candidate row, Search &search) {
  Plan &plan = *search.plan;
  bool isSame = std::abs(row.seconds - plan.seconds()) <= 1e-9 * plan.seconds() &&
                row.counted == plan.counted() &&
                std::ranges::all_of(plan.candidates, [&](const Candidate &other) {
                  return (other.counted > plan.budget) == (other.verdict == Verdict::DoesNotFit);
                });
  if (isSame) {
    for (Candidate &other : plan.candidates)
      other.over = std::max<int64_t>(0, other.counted - plan.budget);
    search.notices = {"the plan is the one given; its table of sizes is from when it was made"};
  } else {
    search.notices = {fmt::format("the plan is the one given; it was made with other figures or for another "
                                  "budget: times and memory are those of target {} now{}",
                                  plan.target,
                                  plan.candidates.size() > 1 ? ", and other sizes are not shown" : "")};
    row.seconds = plan.seconds();
    row.counted = plan.counted();
    row.lowerBound = plan.lowerBound;
    plan.candidates = {row};
  }
  search.candidates = plan.candidates;
  auto least = std::ranges::min_element(plan.candidates, {}, &Candidate::counted);
  search.smallest = static_cast<size_t>(least - plan.candidates.begin());
}

} // namespace

Result<Search> reusePlan(const Problem &problem, const DeviceProfile &profile, const Options &options,
                         const Plan &plan) {
  int64_t budget = options.budget.value_or(profile.memoryUsable);
  if (Status amounts = checkAmounts(problem, plan.cut.m, plan.cut.m); !amounts)
    return amounts.error();
  Result<Sharing> sharing = sharingOf(plan);
  if (!sharing)
    return Error{sharing.error().message, "other-plan"};
  if (std::string what = difference(problem, profile, options, plan, *sharing); !what.empty())
    return other(what);
  const Candidate *row = chosenRow(plan);
  if (!row)
    return other("does not list the size that it chose, once");
  Result<Choice> choice = choiceOf(problem, plan);
  if (!choice)
    return choice.error();
  Search search;
  search.problem = problem.name;
  search.target = profile.name;
  search.basis = profile.basis;
  search.batch = options.batch;
  search.devices = options.devices;
  search.deviceBatch = deviceBatch(options);
  search.budget = budget;
  search.memoryTotal = profile.memoryTotal;
  search.tokensPerSample = problem.tokensPerSample;
  search.plan = plan;
  Candidate chosen = *row;
  chosen.scratch = plan.scratch;
  chosen.arena = plan.arena();
  chosen.recomputed = static_cast<int64_t>(plan.recompute.size());
  Problem own = sharedProblem(problem, *sharing, options.devices);
  Problem runs = expand(own, *choice);
  measureAnew(problem, runs, profile, *sharing, chosen, search);
  if (int64_t counted = search.plan->counted(); counted > budget)
    return other(fmt::format("takes {}, {} more than the {} there are", formatBytes(counted),
                             formatBytes(counted - budget), formatBytes(budget)));
  keepTable(chosen, search);
  search.sharing = describeSharing(*sharing, options.devices, runs, plan.room);
  search.recomputed = describeRecomputation(problem, TimeModel(problem, profile, options.devices), *choice);
  search.slices = describeSlices(problem, *choice, plan.cut.m);
  return search;
}

} // namespace accum::planner
