// SPDX-License-Identifier: Apache-2.0
// Tails as a dictionary.
#include "dialects/Train/CommandTail.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace accum {

std::optional<CommandTail> tailOf(train::CommandOp command) {
  auto entries = command->getAttrOfType<DictionaryAttr>("tail");
  if (!entries)
    return std::nullopt;
  CommandTail tail;
  tail.id = entries.getAs<IntegerAttr>("id").getInt();
  tail.result = entries.getAs<IntegerAttr>("result").getInt();
  tail.kernel = entries.getAs<FlatSymbolRefAttr>("kernel");
  tail.head = entries.getAs<FlatSymbolRefAttr>("head");
  llvm::append_range(tail.operands, entries.getAs<DenseI64ArrayAttr>("operands").asArrayRef());
  llvm::append_range(tail.headOperands, entries.getAs<DenseI64ArrayAttr>("head_operands").asArrayRef());
  tail.flops = entries.getAs<train::PolyAttr>("flops");
  tail.bytes = entries.getAs<train::PolyAttr>("bytes");
  return tail;
}

void setTail(train::CommandOp command, const CommandTail &tail) {
  Builder builder(command.getContext());
  NamedAttrList entries;
  entries.set("id", builder.getI64IntegerAttr(tail.id));
  entries.set("result", builder.getI64IntegerAttr(tail.result));
  entries.set("kernel", tail.kernel);
  entries.set("head", tail.head);
  entries.set("operands", builder.getDenseI64ArrayAttr(tail.operands));
  entries.set("head_operands", builder.getDenseI64ArrayAttr(tail.headOperands));
  entries.set("flops", tail.flops);
  entries.set("bytes", tail.bytes);
  command->setAttr("tail", entries.getDictionary(command.getContext()));
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
  auto yield = cast<train::YieldOp>(step.getMicro().front().getTerminator());
  SmallVector<Operation *> losses;
  Operation *gradient = nullptr;
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
  auto [losses, gradient] = lossesAndFirstGradient(step);
  Operation *last = nullptr;
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
