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

} // namespace accum
