// SPDX-License-Identifier: Apache-2.0
// Tails, and where the forward part ends.
#include "dialects/Train/CommandTail.h"
#include "dialects/Train/Phases.h"
#include "dialects/Train/SplitBatch.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace accum {

std::optional<CommandTail> tailOf(train::CommandOp command) {
  train::TailAttr held = command.getTailAttr();
  if (!held)
    return std::nullopt;
  return CommandTail{held.getId(),
                     held.getResult(),
                     held.getKernel(),
                     held.getHead(),
                     SmallVector<int64_t>(held.getOperands().asArrayRef()),
                     SmallVector<int64_t>(held.getHeadOperands().asArrayRef()),
                     held.getFlops(),
                     held.getBytes()};
}

void setTail(train::CommandOp command, const CommandTail &tail) {
  Builder builder(command.getContext());
  command.setTailAttr(train::TailAttr::get(command.getContext(), tail.id, tail.result, tail.kernel, tail.head,
                                           builder.getDenseI64ArrayAttr(tail.operands),
                                           builder.getDenseI64ArrayAttr(tail.headOperands), tail.flops,
                                           tail.bytes));
}

int64_t repetitionIds(ModuleOp module) {
  int64_t ids = 0;
  module.walk([&](train::CommandOp command) {
    auto tail = tailOf(command);
    ids = std::max(ids, (tail ? tail->id : static_cast<int64_t>(command.getId())) + 1);
  });
  return ids;
}

void numberCommands(ModuleOp module) {
  int64_t id = 0;
  module.walk([&](train::CommandOp command) {
    command.setId(id++);
    if (auto tail = tailOf(command)) {
      tail->id = id++;
      setTail(command, *tail);
    }
  });
}

/// Yielded by name, and the first op that yields a gradient.
static std::pair<SmallVector<Operation *>, Operation *> lossesAndFirstGradient(train::StepOp step) {
  SmallVector<Operation *> losses;
  Operation *gradient = nullptr;
  train::PhaseOp loop = step.getMainLoop();
  if (!loop)
    return {};
  train::YieldOp yield = loop.getYield();
  for (auto [value, target] : llvm::zip(yield.getValues(), yield.getTargets())) {
    Operation *op = value.getDefiningOp();
    if (op && isa<StringAttr>(target))
      losses.push_back(op);
    else if (op && (!gradient || op->isBeforeInBlock(gradient)))
      gradient = op;
  }
  return {losses, gradient};
}

Operation *lastForwardCommand(train::StepOp step) {
  Operation *last = nullptr;
  if (train::PhaseOp loop = step.getMainLoop(); loop && loop->hasAttr(train::kGoesOn)) {
    for (Operation *op : train::forwardByOrigin(loop.getBlock()))
      last = isa<train::CommandOp>(op) ? op : last;
    return last;
  }
  auto [losses, gradient] = lossesAndFirstGradient(step);
  auto extend = [&](Operation *op) {
    if (isa<train::CommandOp>(op) && (!last || last->isBeforeInBlock(op)))
      last = op;
  };
  DenseSet<Operation *> seen;
  SmallVector<Operation *> open(losses);
  while (!open.empty())
    for (Value operand : open.pop_back_val()->getOperands())
      if (Operation *op = operand.getDefiningOp(); op && seen.insert(op).second) {
        extend(op);
        open.push_back(op);
      }
  for (Operation *loss : losses)
    if (!gradient || loss->isBeforeInBlock(gradient))
      extend(loss);
  return last;
}

} // namespace accum
