// SPDX-License-Identifier: Apache-2.0
// Rows by shape, and the ops that keep them apart.
#include "dialects/NN/RowAxis.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"

using namespace mlir;

namespace accum::nn {

std::optional<unsigned> rowAxis(Type type, int64_t rows) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !(Placement::of(type) == Placement::batched(0)))
    return std::nullopt;
  for (auto [axis, extent] : llvm::enumerate(tensor.getShape())) {
    if (extent == rows)
      return axis;
    if (extent != 1)
      return std::nullopt;
  }
  return std::nullopt;
}

namespace {

bool hasRows(Value value, int64_t rows) { return rowAxis(value.getType(), rows).has_value(); }

/// Whether a right-aligned operand is the same for all rows of `result`, or has the rows at the same place.
bool followsRows(Value operand, Value result, int64_t rows) {
  auto type = cast<RankedTensorType>(operand.getType());
  auto axis = static_cast<int64_t>(*rowAxis(result.getType(), rows)) + type.getRank() -
              cast<RankedTensorType>(result.getType()).getRank();
  if (hasRows(operand, rows))
    return axis >= 0 && *rowAxis(operand.getType(), rows) == static_cast<unsigned>(axis);
  return !Placement::of(operand.getType()).isBatched() && (axis < 0 || type.getDimSize(axis) == 1);
}

/// The row index of each operand that has rows is one letter; it stays the rows of the result, or is summed
/// over.
bool isRowLocalProduct(ContractOp op, int64_t rows) {
  std::optional<char> letter;
  auto letterOf = [&](Value value, StringRef letters) {
    char found = letters[*rowAxis(value.getType(), rows)];
    bool same = !letter || *letter == found;
    letter = found;
    return same;
  };
  for (auto [operand, letters] : {std::pair<Value, StringRef>(op.getLhs(), op.lhsLetters()),
                                  std::pair<Value, StringRef>(op.getRhs(), op.rhsLetters())})
    if (hasRows(operand, rows) ? !letterOf(operand, letters) : Placement::of(operand.getType()).isBatched())
      return false;
  for (auto [operand, letters] : {std::pair<Value, StringRef>(op.getLhs(), op.lhsLetters()),
                                  std::pair<Value, StringRef>(op.getRhs(), op.rhsLetters())})
    if (letter && !hasRows(operand, rows) && letters.contains(*letter))
      return false;
  if (!Placement::of(op.getResult().getType()).isBatched())
    return letter && !op.resultLetters().contains(*letter);
  return letter && hasRows(op.getResult(), rows) &&
         op.resultLetters()[*rowAxis(op.getResult().getType(), rows)] == *letter;
}

bool isRowLocalSum(ReduceOp op, int64_t rows) {
  if (!hasRows(op.getInput(), rows))
    return false;
  auto axis = static_cast<int64_t>(*rowAxis(op.getInput().getType(), rows));
  bool sumsRows = llvm::is_contained(op.getAxes(), axis);
  if (Placement::of(op.getResult().getType()).isBatched())
    return !sumsRows && hasRows(op.getResult(), rows);
  return sumsRows && op.getKind() == ReduceKind::sum;
}

} // namespace

bool isRowLocal(Operation *op, int64_t rows) {
  bool isBatched = llvm::any_of(llvm::concat<Value>(op->getOperands(), op->getResults()),
                                [](Value value) { return Placement::of(value.getType()).isBatched(); });
  if (!isBatched)
    return true;
  if (auto contract = dyn_cast<ContractOp>(op))
    return isRowLocalProduct(contract, rows);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return isRowLocalSum(reduce, rows);
  auto results = llvm::all_of(op->getResults(), [&](Value value) { return hasRows(value, rows); });
  if (!results)
    return false;
  if (auto mask = dyn_cast<MaskRowsOp>(op))
    return followsRows(mask.getInput(), mask.getResult(), rows);
  if (isa<ReshapeOp, CrossEntropyOp, CrossEntropyGradOp>(op))
    return llvm::all_of(op->getOperands(), [&](Value value) { return hasRows(value, rows); });
  if (isa<ElementwiseOp, CastOp, BroadcastOp>(op))
    return llvm::all_of(op->getOperands(),
                        [&](Value value) { return followsRows(value, op->getResult(0), rows); });
  auto constant = dyn_cast<ConstantOp>(op);
  auto values = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return values && values.isSplat();
}

} // namespace accum::nn
