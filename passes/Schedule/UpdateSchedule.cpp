// SPDX-License-Identifier: Apache-2.0
// Stores of the update: in place, or copied.
#include "passes/Schedule/UpdateSchedule.h"
#include "dialects/NN/Views.h"

using namespace mlir;

namespace accum {
namespace {

/// A range of the state, of one parameter or of all: no update mixes both.
using SlotRange = std::tuple<StringRef, FlatSymbolRefAttr, std::optional<int64_t>, int64_t>;

template <typename Op> SlotRange rangeOf(Op op) {
  return {op.getSlot(), train::oneParameterOf(op), train::unitOf(op), train::pieceOf(op)};
}

/// Which range of the state a value is read from.
std::optional<SlotRange> slotRead(Value value) {
  Operation *op = nn::behindViews(value).getDefiningOp();
  if (isa_and_nonnull<train::LoadParamOp>(op))
    return SlotRange{"parameter", {}, {}, 0};
  if (auto load = dyn_cast_or_null<train::LoadSlotOp>(op))
    return rangeOf(load);
  return std::nullopt;
}

bool mayAlias(train::CommandOp command, int64_t result, int64_t operand) {
  return llvm::any_of(command.getMayAlias().getAsRange<DenseI64ArrayAttr>(), [&](DenseI64ArrayAttr pair) {
    return pair.asArrayRef() == ArrayRef<int64_t>{result, operand};
  });
}

/// The command may overwrite `slot` while it runs: what it reads of it, it may alias.
bool canOverwrite(train::CommandOp command, int64_t result, SlotRange slot) {
  for (auto [i, input] : llvm::enumerate(command.getInputs()))
    if (slotRead(input) == slot && !mayAlias(command, result, static_cast<int64_t>(i)))
      return false;
  return true;
}

/// Nobody reads `slot` behind `writer`.
LogicalResult verifyNotReadAfter(Operation *writer, SlotRange slot) {
  for (Operation *op = writer->getNextNode(); op; op = op->getNextNode())
    if (isa<train::CommandOp, train::StoreOp>(op))
      for (Value operand : op->getOperands())
        if (slotRead(operand) == slot)
          return op->emitOpError("reads `") << std::get<0>(slot) << "` after it was overwritten";
  return success();
}

} // namespace

Place storePlace(train::StoreOp store, const ProgramBuffers &buffers) {
  auto type = cast<RankedTensorType>(store.getValue().getType());
  if (auto unit = train::unitOf(store))
    return rowsOf(buffers.piece(store.getSlot(), *unit, train::pieceOf(store)), type);
  return buffers.slot(store.getSlot(), train::oneParameterOf(store), type);
}

LogicalResult placeStores(Block &update, ProgramBuffers &buffers, DenseSet<Operation *> &copies) {
  for (auto store : update.getOps<train::StoreOp>()) {
    SlotRange slot = rangeOf(store);
    auto command = store.getValue().getDefiningOp<train::CommandOp>();
    bool inPlace = command && !buffers.find(store.getValue());
    if (inPlace && !canOverwrite(command, cast<OpResult>(store.getValue()).getResultNumber(), slot))
      return command.emitOpError("reads `") << std::get<0>(slot) << "` and overwrites it without may_alias";
    if (failed(verifyNotReadAfter(inPlace ? command.getOperation() : store.getOperation(), slot)))
      return failure();
    if (inPlace)
      buffers.place(store.getValue(), storePlace(store, buffers));
    else
      copies.insert(store);
  }
  return success();
}

} // namespace accum
