// SPDX-License-Identifier: Apache-2.0
// Clones of the commands that a plan recomputes.
#include "compiler/Planner/Problem/Recompute.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Origin.h"
#include "dialects/Train/CommandTail.h"
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
  void run(const std::vector<int> &before) {
    SmallVector<SmallVector<int>> clones(commands.size());
    for (auto [index, at] : llvm::enumerate(before))
      if (at != planner::kNoIndex)
        clones[at].push_back(static_cast<int>(index));
    for (auto [index, entry] : llvm::enumerate(commands)) {
      for (int source : clones[index])
        repeat(commands[source], entry.command);
      if (problem.commands[index].backward && !entry.isTail)
        for (OpOperand &operand : entry.command->getOpOperands())
          operand.set(late(operand.get(), entry.command));
    }
  }

private:
  void repeat(ProblemCommand entry, train::CommandOp user) {
    train::CommandOp source = entry.command;
    if (auto tail = tailOf(source))
      return entry.isTail ? repeatTail(source, *tail, user) : repeatHead(source, *tail, user);
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

  train::CommandOp makePart(train::CommandOp source, train::CommandOp user, FlatSymbolRefAttr kernel,
                            ArrayRef<int64_t> operands, ArrayRef<int64_t> numbers, int64_t id) {
    SmallVector<Type> results;
    for (int64_t number : numbers)
      results.push_back(source->getResult(number).getType());
    SmallVector<Value> inputs;
    for (int64_t operand : operands)
      inputs.push_back(
          late(operand < 0 ? Value(source->getResult(~operand)) : source.getInputs()[operand], user));
    OpBuilder builder(user);
    auto part = train::CommandOp::create(builder, partLocation(source.getLoc(), numbers), results, kernel,
                                         inputs, base + id, source.getFlops(), source.getBytes());
    part.setCloneOf(id);
    return part;
  }

  void repeatTail(train::CommandOp source, const CommandTail &tail, train::CommandOp user) {
    Value result = source->getResult(tail.result);
    auto clone = makePart(source, user, tail.kernel, tail.operands, {tail.result}, tail.id);
    clone.setFlopsAttr(tail.flops);
    clone.setBytesAttr(tail.bytes);
    repeated[result] = clone->getResult(0);
  }

  /// All results but the tail's.
  void repeatHead(train::CommandOp source, const CommandTail &tail, train::CommandOp user) {
    SmallVector<int64_t> numbers;
    for (OpResult result : source->getResults())
      if (result.getResultNumber() != tail.result)
        numbers.push_back(result.getResultNumber());
    auto clone =
        makePart(source, user, tail.head, tail.headOperands, numbers, static_cast<int64_t>(source.getId()));
    clone.setNumbers(numbers);
    for (auto [number, result] : llvm::zip(numbers, clone->getResults()))
      repeated[source->getResult(number)] = result;
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

  SmallVector<ProblemCommand> commands;
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
  planner::Recomputation flow(problem);
  std::vector<int> before = flow.positions(chosen);
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
