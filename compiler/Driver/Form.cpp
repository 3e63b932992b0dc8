// SPDX-License-Identifier: Apache-2.0
#include "compiler/Driver/Form.h"
#include "compiler/Driver/StepProblem.h"
#include "compiler/Planner/Problem/ProblemText.h"
#include "compiler/Planner/Search/ReusedPlan.h"
#include "compiler/Planner/Sharing/Gathering.h"
#include "compiler/Planner/Sharing/Sharing.h"
#include "passes/Plan/Plan.h"
#include "passes/Schedule/StateLayout.h"
#include "llvm/Support/MemoryBuffer.h"
#include <fmt/format.h>

using namespace mlir;

namespace accum::driver {

FailureOr<Form> problemOf(ModuleOp module, const Options &options) {
  auto layout = layOutState(module, options.devices);
  if (failed(layout))
    return failure();
  auto step = module.lookupSymbol<train::StepOp>("step");
  planner::Problem problem = buildProblem(step);
  llvm::StringSet<> inParts = frozenInParts(module);
  addStateLines(layout->manifest, inParts, problem);
  orderParameters(layout->manifest, inParts, problem);
  problem.fixed.push_back({planner::FixedKind::Inputs, "inputs", inputBytes(step)});
  problem.tokensPerSample = tokensPerSample(step);
  problem.allReduceBytes = static_cast<int64_t>(layout->manifest.gradients.bytes);
  if (auto eval = module.lookupSymbol<train::StepOp>("eval")) {
    planner::Problem evaluation = buildProblem(eval);
    orderParameters(layout->manifest, inParts, evaluation);
    noteReadAs(problem, evaluation);
    if (auto places = planner::unitPlaces(evaluation, /*cutParameters=*/true, options.devices,
                                          /*offloaded=*/false))
      problem.gathered = places->gathered;
  }
  return Form{std::move(problem)};
}

namespace {

/// What units take in the program of a plan; nothing where there are none, or nobody knows.
std::optional<planner::UnitPlaces> unitPlacesOf(const planner::Problem &problem, const planner::Plan &plan) {
  bool cutsParameters = plan.shard == "zero3" && plan.devices > 1;
  if (plan.offload != "parameters" && (plan.shard == "none" || plan.devices == 1))
    return std::nullopt;
  auto runs = planner::problemThatRuns(problem, plan);
  return runs ? planner::unitPlaces(*runs, cutsParameters, plan.devices, plan.offload == "parameters")
              : std::nullopt;
}

/// `--plan FILE`. Units have the room that they were planned with.
planner::Result<planner::Search> reuse(planner::Problem &problem, const planner::DeviceProfile &profile,
                                       const planner::Options &asked, const std::string &path) {
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text)
    return planner::Error{fmt::format("--plan {}: cannot be read: {}", path, text.getError().message()),
                          "file-unreadable"};
  auto plan = planner::parsePlan(text.get()->getBuffer(), path);
  if (!plan)
    return plan.error();
  for (const planner::MemoryLine &line : plan->memory) {
    if (line.name == planner::kGatheredLine)
      problem.gathered = std::max(problem.gathered, line.bytes);
    if (line.name == planner::kScatteredLine)
      problem.scattered = std::max(problem.scattered, line.bytes);
  }
  auto search = planner::reusePlan(problem, profile, asked, *plan);
  if (search)
    return search;
  planner::Error error = search.error();
  error.message = path + ": " + error.message;
  return error;
}

/// Where the program of a plan needs more room for units than it was made with, the next one has that. True:
/// it does.
bool takeRoom(planner::Problem &problem, const planner::Search &search) {
  auto places = search.plan ? unitPlacesOf(problem, *search.plan) : std::nullopt;
  if (!places)
    return false;
  auto lineOf = [&](const char *name) {
    auto line = llvm::find_if(search.plan->memory,
                              [&](const planner::MemoryLine &each) { return each.name == name; });
    return line == search.plan->memory.end() ? INT64_MAX : line->bytes;
  };
  bool isMore = places->gathered > lineOf(planner::kGatheredLine) ||
                places->scattered > lineOf(planner::kScatteredLine);
  problem.gathered = std::max(problem.gathered, places->gathered);
  problem.scattered = std::max(problem.scattered, places->scattered);
  return isMore;
}

void solveWithRoom(Form &form, const planner::DeviceProfile &profile, const planner::Options &asked) {
  form.search = planner::solve(form.problem, profile, asked);
  constexpr int kMostTurns = 5; // the room grows with most of them
  for (int turn = 0; turn < kMostTurns && form.search; ++turn) {
    if (!takeRoom(form.problem, *form.search))
      break;
    form.search = planner::solve(form.problem, profile, asked);
  }
}

/// The plan with more room for units, where the step is faster by it; not tried where that is less than what
/// it waits for units.
void tryRoom(Form &form, const planner::DeviceProfile &profile, const planner::Options &asked,
             int64_t gathered, int64_t scattered) {
  Form other{form.problem, form.known};
  other.problem.gathered = std::max(other.problem.gathered, gathered);
  other.problem.scattered = std::max(other.problem.scattered, scattered);
  bool isSame =
      other.problem.gathered == form.problem.gathered && other.problem.scattered == form.problem.scattered;
  double enough = asked.prefer == "speed" ? 0 : form.seconds() * planner::toleranceOf(profile);
  if (isSame || planner::secondsForUnits(*form.search->plan) <= enough)
    return;
  solveWithRoom(other, profile, asked);
  if (other.search && other.search->plan && other.seconds() < form.seconds() - enough)
    form = std::move(other);
}

/// Units that come and go beside the commands take more room, and so do those that stay till they are needed
/// again: that is had where there is so much memory, and the step is faster by it.
void giveUnitsRoom(Form &form, const planner::DeviceProfile &profile, const planner::Options &asked) {
  using planner::UnitPlaces;
  if (asked.prefer == "memory")
    return;
  for (int64_t UnitPlaces::*room : {&UnitPlaces::ahead, &UnitPlaces::sent, &UnitPlaces::kept}) {
    auto places =
        form.search && form.search->plan ? unitPlacesOf(form.problem, *form.search->plan) : std::nullopt;
    if (!places)
      return;
    int64_t spare = form.search->budget - form.search->plan->counted(),
            most = std::max(form.problem.gathered, places->gathered) + spare;
    bool keeps = room == &UnitPlaces::kept; // any number of them
    tryRoom(form, profile, asked, keeps ? std::min(places->kept, most) : *places.*room,
            keeps ? 0 : places->beside);
  }
}

void searchOnce(Form &form, const planner::DeviceProfile &profile, planner::Options asked,
                const Options &options) {
  asked.known = &form.known;
  if (!options.planFile.empty())
    return void(form.search = reuse(form.problem, profile, asked, options.planFile));
  solveWithRoom(form, profile, asked);
  giveUnitsRoom(form, profile, asked);
}

} // namespace

void search(Form &form, const planner::DeviceProfile &profile, planner::Options asked,
            const Options &options) {
  bool isAuto = options.shard == "auto" || options.offload == "auto";
  if (!isAuto || !options.planFile.empty())
    return searchOnce(form, profile, asked, options);
  std::vector<Form> forms;
  std::vector<TriedWay> tried;
  for (const Way &way : waysOf(profile, options)) {
    if (!tried.empty() && way.offload != tried.back().way.offload && bestWay(tried))
      break;
    asked.shard = way.shard;
    asked.offload = way.offload;
    Form attempt{form.problem, form.known};
    searchOnce(attempt, profile, asked, options);
    if (!attempt.search)
      return void(form.search = attempt.search);
    tried.push_back(triedWay(way, *attempt.search));
    forms.push_back(std::move(attempt));
  }
  size_t best = bestWay(tried).value_or(leastWay(tried));
  form = std::move(forms[best]);
  tried[best].chosen = tried[best].fits;
  form.ways = std::move(tried);
}

} // namespace accum::driver
