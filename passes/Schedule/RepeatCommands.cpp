// SPDX-License-Identifier: Apache-2.0
// Clones of the commands that a plan recomputes.
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Origin.h"
#include "dialects/Train/CommandTail.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Schedule/Passes.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_REPEATCOMMANDS
#include "passes/Schedule/Passes.h.inc"

namespace {

/// A command, or the tail of one.
struct Source {
  train::CommandOp command;
  bool isTail = false;
};

/// Writes the clones of one step, in the order in which they run.
class Repeater {
public:
  explicit Repeater(train::StepOp step) : base(repetitionIds(step->getParentOfType<ModuleOp>())) {
    if (train::PhaseOp loop = step.getMainLoop())
      llvm::append_range(commands, loop.getBlock().getOps<train::CommandOp>());
    for (train::CommandOp command : commands) {
      sources[static_cast<int64_t>(command.getId())] = {command};
      if (auto tail = tailOf(command))
        sources[tail->id] = {command, /*isTail=*/true};
    }
  }

  /// Notes that a command runs again right before another one. False: one of them is not there.
  bool add(int64_t id, int64_t before) {
    clones[before].push_back(id);
    return sources.contains(id) && sources.contains(before) && !sources[before].isTail;
  }

  /// What stands behind a clone is backward, and reads that one.
  void run() {
    for (train::CommandOp command : commands) {
      for (int64_t id : clones.lookup(static_cast<int64_t>(command.getId())))
        repeat(sources[id], command);
      for (OpOperand &operand : command->getOpOperands())
        operand.set(late(operand.get(), command));
    }
  }

private:
  void repeat(Source entry, train::CommandOp user) {
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

  SmallVector<train::CommandOp> commands;
  DenseMap<int64_t, Source> sources;              ///< by id
  DenseMap<int64_t, SmallVector<int64_t>> clones; ///< by the id of the command that they stand before
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
  DenseI64ArrayAttr ids = plan.getRecompute(), before = plan.getBefore();
  if (!ids)
    return;
  if (!before || before.size() != ids.size()) {
    module.emitError("has a train.plan that does not say what its ")
        << ids.size() << " repetitions stand before";
    return signalPassFailure();
  }
  Repeater repeater(step);
  for (auto [id, at] : llvm::zip(ids.asArrayRef(), before.asArrayRef()))
    if (!repeater.add(id, at)) {
      step.emitError("has no command ") << id << ", or no command " << at << " that it is repeated before";
      return signalPassFailure();
    }
  repeater.run();
}

} // namespace accum
