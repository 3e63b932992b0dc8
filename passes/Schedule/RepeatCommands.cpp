// SPDX-License-Identifier: Apache-2.0
// Clones of the commands that a plan recomputes.
#include "compiler/Planner/Recompute.h"
#include "dialects/NN/NNDialect.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Plan/Plan.h"
#include "passes/Schedule/Passes.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_REPEATCOMMANDS
#include "passes/Schedule/Passes.h.inc"

namespace {

/// Writes the clones of one step, in the order in which they run.
class Repeater {
public:
  Repeater(train::StepOp step, const planner::Problem &problem)
      : commands(commandsOf(step)), problem(problem), base(planner::cloneBase(problem)) {}

  /// `before`: per command, the one that its clone stands right before.
  void run(ArrayRef<int> before) {
    SmallVector<SmallVector<int>> clones(commands.size());
    for (auto [index, at] : llvm::enumerate(before))
      if (at != planner::kNoIndex)
        clones[at].push_back(static_cast<int>(index));
    for (auto [index, command] : llvm::enumerate(commands)) {
      for (int source : clones[index])
        repeat(commands[source], command);
      if (problem.commands[index].backward)
        for (OpOperand &operand : command->getOpOperands())
          operand.set(late(operand.get(), command));
    }
  }

private:
  void repeat(train::CommandOp source, train::CommandOp user) {
    OpBuilder builder(user);
    IRMapping mapping;
    for (Value input : source.getInputs())
      mapping.map(input, late(input, user));
    auto clone = cast<train::CommandOp>(builder.clone(*source, mapping));
    clone.setCloneOf(source.getId());
    clone.setId(base + source.getId());
    for (auto [from, to] : llvm::zip(source->getResults(), clone->getResults()))
      repeated[from] = to;
  }

  /// What the backward part reads for a value: that of the clone, where there is one by now, seen through the
  /// same views.
  Value late(Value value, Operation *user) {
    if (auto known = repeated.find(value); known != repeated.end())
      return known->second;
    auto view = value.getDefiningOp<nn::ReshapeOp>();
    Value input = view ? late(view.getInput(), user) : Value();
    if (!view || input == view.getInput())
      return value;
    OpBuilder builder(user);
    auto again = nn::ReshapeOp::create(builder, view.getLoc(), view.getType(), input);
    repeated[value] = again;
    return again;
  }

  SmallVector<train::CommandOp> commands;
  const planner::Problem &problem;
  int64_t base;
  DenseMap<Value, Value> repeated;
};

struct RepeatCommands : impl::RepeatCommandsBase<RepeatCommands> {
  using RepeatCommandsBase::RepeatCommandsBase;
  void runOnOperation() override;
};

} // namespace

void RepeatCommands::runOnOperation() {
  ModuleOp module = getOperation();
  auto plan = module->getAttrOfType<train::PlanAttr>("train.plan");
  auto step = module.lookupSymbol<train::StepOp>("step");
  if (!plan || !step) {
    module.emitError("has no train.plan or no step");
    return signalPassFailure();
  }
  if (!plan.getRecompute())
    return;
  planner::Problem problem = buildProblem(step);
  DenseSet<int64_t> open(plan.getRecompute().asArrayRef().begin(), plan.getRecompute().asArrayRef().end());
  std::vector<char> chosen;
  for (const planner::Command &command : problem.commands)
    chosen.push_back(open.erase(command.id) ? 1 : 0);
  std::vector<int> before = planner::Recomputation(problem).positions(chosen);
  for (auto [command, isChosen, at] : llvm::zip(problem.commands, chosen, before))
    if (isChosen && at == planner::kNoIndex)
      open.insert(command.id);
  if (!open.empty()) {
    step.emitError("has no command ") << *open.begin() << " that can run a second time";
    return signalPassFailure();
  }
  Repeater(step, problem).run(before);
}

} // namespace accum
