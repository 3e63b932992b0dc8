// SPDX-License-Identifier: Apache-2.0
#include "compiler/Driver/Form.h"
#include "compiler/Driver/StepProblem.h"
#include "compiler/Planner/Problem/ProblemText.h"
#include "compiler/Planner/Search/ReusedPlan.h"
#include "compiler/Planner/Sharing/Gathering.h"
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
  addStateLines(layout->manifest, inParts, rowBytes(module, *layout), problem);
  orderParameters(layout->manifest, inParts, problem);
  problem.fixed.push_back({planner::FixedKind::Inputs, "inputs", inputBytes(step)});
  problem.tokensPerSample = tokensPerSample(step);
  problem.allReduceBytes = static_cast<int64_t>(layout->manifest.gradients.bytes);
  std::vector<planner::Problem> all = {std::move(problem)};
  for (auto other : module.getOps<train::StepOp>())
    if (other != step) {
      all.push_back(buildProblem(other));
      orderParameters(layout->manifest, inParts, all.back());
    }
  noteReadAs(all);
  for (const planner::Problem &other : llvm::drop_begin(all))
    if (auto rooms = planner::unitRooms(other, {/*cutParameters=*/true, options.devices}))
      all.front().gatheredElsewhere = std::max(all.front().gatheredElsewhere, rooms->onDemand.gathered);
  return Form{std::move(all.front())};
}

/// `--plan FILE`.
static planner::Result<planner::Search> reuse(const planner::Problem &problem,
                                              const planner::DeviceProfile &profile,
                                              const planner::Options &asked, const std::string &path) {
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text)
    return planner::Error{fmt::format("--plan {}: cannot be read: {}", path, text.getError().message()),
                          "file-unreadable"};
  auto plan = planner::parsePlan(text.get()->getBuffer(), path);
  if (!plan)
    return plan.error();
  auto search = planner::reusePlan(problem, profile, asked, *plan);
  if (search)
    return search;
  planner::Error error = search.error();
  error.message = path + ": " + error.message;
  return error;
}

void search(Form &form, const planner::DeviceProfile &profile, planner::Options asked,
            const Options &options) {
  asked.known = &form.known;
  form.search = options.planFile.empty() ? planner::solve(form.problem, profile, asked)
                                         : reuse(form.problem, profile, asked, options.planFile);
}

} // namespace accum::driver
