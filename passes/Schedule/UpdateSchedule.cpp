// SPDX-License-Identifier: Apache-2.0
// Stores of the update: in place, or copied.
#include "passes/Schedule/UpdateSchedule.h"
#include "dialects/NN/Views.h"

using namespace mlir;

namespace accum {
namespace {

/// A parameter, or one of its slots.
using Item = std::pair<StringAttr, StringAttr>;

std::optional<Item> itemRead(Value value) {
  Operation *op = nn::behindViews(value).getDefiningOp();
  if (auto load = dyn_cast_or_null<train::LoadParamOp>(op))
    return Item{load.getParamAttr().getAttr(), StringAttr()};
  if (auto load = dyn_cast_or_null<train::LoadSlotOp>(op))
    return Item{load.getParamAttr().getAttr(), load.getSlotAttr()};
  return std::nullopt;
}

Item itemWritten(train::StoreOp store) { return {store.getParamAttr().getAttr(), store.getSlotAttr()}; }

bool mayAlias(train::CommandOp command, int64_t result, int64_t operand) {
  return llvm::any_of(command.getMayAlias().getAsRange<DenseI64ArrayAttr>(), [&](DenseI64ArrayAttr pair) {
    return pair.asArrayRef() == ArrayRef<int64_t>{result, operand};
  });
}

/// The command may overwrite `item` while it runs: what it reads of it, it may alias.
bool canOverwrite(train::CommandOp command, int64_t result, Item item) {
  for (auto [i, input] : llvm::enumerate(command.getInputs()))
    if (itemRead(input) == item && !mayAlias(command, result, static_cast<int64_t>(i)))
      return false;
  return true;
}

/// Nobody reads `item` behind `writer`.
LogicalResult verifyNotReadAfter(Operation *writer, Item item) {
  for (Operation *op = writer->getNextNode(); op; op = op->getNextNode())
    if (isa<train::CommandOp, train::StoreOp>(op))
      for (Value operand : op->getOperands())
        if (itemRead(operand) == item)
          return op->emitOpError("reads `") << item.first.getValue() << "` after it was overwritten";
  return success();
}

} // namespace

Place storePlace(train::StoreOp store, const ProgramBuffers &buffers) {
  return store.getSlot() ? buffers.slot(store.getParam(), *store.getSlot())
                         : buffers.parameter(store.getParam());
}

LogicalResult placeStores(Block &update, ProgramBuffers &buffers, DenseSet<Operation *> &copies) {
  for (auto store : update.getOps<train::StoreOp>()) {
    Item item = itemWritten(store);
    auto command = store.getValue().getDefiningOp<train::CommandOp>();
    bool inPlace = command && !buffers.find(store.getValue());
    if (inPlace && !canOverwrite(command, cast<OpResult>(store.getValue()).getResultNumber(), item))
      return command.emitOpError("reads `")
             << item.first.getValue() << "` and overwrites it without may_alias";
    if (failed(verifyNotReadAfter(inPlace ? command.getOperation() : store.getOperation(), item)))
      return failure();
    if (inPlace)
      buffers.place(store.getValue(), storePlace(store, buffers));
    else
      copies.insert(store);
  }
  return success();
}

} // namespace accum
