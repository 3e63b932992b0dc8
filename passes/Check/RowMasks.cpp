// SPDX-License-Identifier: Apache-2.0
// The spare rows of a ragged micro-step, and the number of samples.
#include "passes/Check/RowMasks.h"
#include "dialects/NN/PlacedBuilder.h"

using namespace mlir;

namespace accum {

static Value addArgument(func::FuncOp forward, StringRef name, RankedTensorType type) {
  unsigned index = forward.getNumArguments();
  auto attrs = DictionaryAttr::get(forward.getContext(),
                                   {NamedAttribute(StringAttr::get(forward.getContext(), "train.name"),
                                                   StringAttr::get(forward.getContext(), name))});
  [[maybe_unused]] LogicalResult inserted = forward.insertArgument(index, type, attrs, forward.getLoc());
  assert(succeeded(inserted));
  return forward.getArgument(index);
}

Value addRowArguments(func::FuncOp forward) {
  Builder builder(forward.getContext());
  auto valid = RankedTensorType::get({1}, builder.getI1Type());
  auto firstRow = RankedTensorType::get({}, builder.getI64Type());
  Value argument = addArgument(forward, "valid", nn::Placement::batched(0).place(valid));
  addArgument(forward, "first_row", nn::Placement::replicated().place(firstRow));
  return argument;
}

Value countSamples(func::FuncOp forward, Value valid) {
  auto sizes = llvm::to_vector(forward.getOps<nn::BatchSizeOp>());
  if (sizes.empty())
    return {};
  nn::PlacedBuilder builder(forward.getContext());
  builder.setInsertionPointToStart(&forward.getBody().front());
  Location loc = sizes[0].getLoc();
  Value ones = nn::CastOp::create(builder, loc, valid, builder.getI64Type());
  Value count = nn::ReduceOp::create(builder, loc, nn::ReduceKind::sum, ones, ArrayRef<int64_t>{0});
  Value total = nn::TotalOp::create(builder, loc, nn::Placement::replicated().place(count.getType()), count);
  for (nn::BatchSizeOp size : sizes) {
    size.replaceAllUsesWith(total);
    size.erase();
  }
  return total;
}

/// The operand whose spare rows must be zero for a sum over the batch axis to be right; -1 where `op` is
/// none.
static int64_t maskedOperand(Operation *op) {
  auto isBatched = [&](unsigned i) { return nn::Placement::of(op->getOperand(i).getType()).isBatched(); };
  auto sizeOf = [&](unsigned i) {
    return cast<RankedTensorType>(op->getOperand(i).getType()).getNumElements();
  };
  if (op->getNumResults() != 1 || !nn::Placement::of(op->getResult(0).getType()).isPartial())
    return -1;
  if (isa<nn::ReduceOp>(op))
    return isBatched(0) ? 0 : -1;
  if (isa<nn::ScatterAddOp, nn::ScatterElementsAddOp>(op))
    return isBatched(1) ? 1 : -1;
  if (isa<nn::ContractOp>(op) && isBatched(0))
    return sizeOf(0) <= sizeOf(1) ? 0 : 1;
  return -1;
}

unsigned maskRows(func::FuncOp forward, Value valid) {
  DenseMap<Value, Value> masked;
  unsigned sums = 0;
  for (Operation &op : forward.getBody().front().without_terminator()) {
    int64_t i = maskedOperand(&op);
    if (i < 0)
      continue;
    ++sums;
    Value operand = op.getOperand(i);
    // The count of the valid rows themselves.
    if (auto cast = operand.getDefiningOp<nn::CastOp>(); cast && cast.getInput() == valid)
      continue;
    Value &mask = masked[operand];
    if (!mask) {
      OpBuilder builder(&op);
      nn::Placement placement = nn::Placement::of(operand.getType());
      mask = nn::MaskRowsOp::create(builder, op.getLoc(), operand.getType(), operand, valid, placement.dim,
                                    placement.outer);
    }
    op.setOperand(i, mask);
  }
  return sums;
}

} // namespace accum
