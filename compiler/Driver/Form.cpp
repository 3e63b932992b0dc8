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
  orderGradients(layout->manifest, inParts, problem);
  problem.fixed.push_back({planner::FixedKind::Inputs, "inputs", inputBytes(step)});
  problem.tokensPerSample = tokensPerSample(step);
  problem.allReduceBytes = static_cast<int64_t>(layout->manifest.gradients.bytes);
  if (auto eval = module.lookupSymbol<train::StepOp>("eval")) {
    planner::Problem evaluation = buildProblem(eval);
    orderGradients(layout->manifest, inParts, evaluation);
    noteReadAs(problem, evaluation);
    if (auto places = planner::unitPlaces(evaluation, /*cutParameters=*/true, options.devices))
      problem.gathered = places->gathered;
  }
  return Form{std::move(problem)};
}

namespace {

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

/// Repeated commands read parameters once more: where a plan needs more room for gathered ones than it was
/// made with, another one is made with that. True: it was.
bool makeRoomForUnits(planner::Problem &problem, const planner::Search &search) {
  bool isPlain = search.plan && search.plan->offload != "parameters" &&
                 (search.plan->shard == "none" || search.plan->devices == 1);
  if (!search.plan || isPlain)
    return false;
  auto runs = planner::problemThatRuns(problem, *search.plan);
  bool cutsParameters = search.plan->shard == "zero3" && search.plan->devices > 1;
  auto places = runs ? planner::unitPlaces(*runs, cutsParameters, search.plan->devices) : std::nullopt;
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

void searchOnce(Form &form, const planner::DeviceProfile &profile, planner::Options asked,
                const Options &options) {
  asked.known = &form.known;
  form.search = options.planFile.empty() ? planner::solve(form.problem, profile, asked)
                                         : reuse(form.problem, profile, asked, options.planFile);
  constexpr int kMostTurns = 5; // the room grows with each
  for (int turn = 0; turn < kMostTurns && options.planFile.empty() && form.search; ++turn) {
    if (!makeRoomForUnits(form.problem, *form.search))
      break;
    form.search = planner::solve(form.problem, profile, asked);
  }
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
