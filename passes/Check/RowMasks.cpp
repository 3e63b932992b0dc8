// SPDX-License-Identifier: Apache-2.0
// The spare rows of a ragged micro-step, and the number of samples.
#include "passes/Check/RowMasks.h"
#include "dialects/NN/PlacedBuilder.h"

using namespace mlir;

namespace accum {

static bool isArgument(func::FuncOp forward, unsigned index, StringRef name, RankedTensorType type) {
  auto known = forward.getArgAttrOfType<StringAttr>(index, "train.name");
  return known && known.getValue() == name && forward.getArgument(index).getType() == type;
}

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
  RankedTensorType valid = nn::Placement::batched(0).place(RankedTensorType::get({1}, builder.getI1Type()));
  RankedTensorType firstRow =
      nn::Placement::replicated().place(RankedTensorType::get({}, builder.getI64Type()));
  // They are told by their place: inputs of the model may have the same names.
  unsigned count = forward.getNumArguments();
  if (count >= 2 && isArgument(forward, count - 2, "valid", valid) &&
      isArgument(forward, count - 1, "first_row", firstRow))
    return forward.getArgument(count - 2); // checked before
  Value argument = addArgument(forward, "valid", valid);
  addArgument(forward, "first_row", firstRow);
  return argument;
}

Value addPositionArgument(func::FuncOp forward) {
  constexpr llvm::StringLiteral kName = "sample position"; // no name of a framework has a space
  constexpr llvm::StringLiteral kRule = "train.synthesize";
  Builder builder(forward.getContext());
  unsigned index = forward.getNumArguments() - 2;
  if (index > 0)
    if (auto rule = forward.getArgAttrOfType<StringAttr>(index - 1, kRule);
        rule && rule.getValue() == "position")
      return forward.getArgument(index - 1);
  auto type = nn::Placement::batched(0).place(RankedTensorType::get({1}, builder.getI64Type()));
  auto attributes =
      builder.getDictionaryAttr({builder.getNamedAttr("train.name", builder.getStringAttr(kName)),
                                 builder.getNamedAttr(kRule, builder.getStringAttr("position"))});
  [[maybe_unused]] LogicalResult inserted = forward.insertArgument(index, type, attributes, forward.getLoc());
  assert(succeeded(inserted));
  return forward.getArgument(index);
}

/// The number that the batch size is multiplied by wherever it is used: how many targets a sample has. 1
/// where it is used otherwise too, or times several numbers.
static int64_t targetsPerSample(ArrayRef<nn::BatchSizeOp> sizes) {
  std::optional<int64_t> targets;
  for (nn::BatchSizeOp size : sizes)
    for (Operation *user : size->getUsers()) {
      auto product = dyn_cast<nn::ElementwiseOp>(user);
      if (!product || product.getFn() != nn::ElementwiseFn::mul)
        return 1;
      auto constant = product.getOperands()[1].getDefiningOp<nn::ConstantOp>();
      auto values = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
      if (!values || values.getType().getRank() != 0)
        return 1;
      int64_t number = values.getSplatValue<APInt>().getSExtValue();
      if (targets.value_or(number) != number)
        return 1;
      targets = number;
    }
  return targets.value_or(1);
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
  // The total is then what the loss is divided by, which is what users ask for.
  int64_t targets = targetsPerSample(sizes);
  if (targets != 1) {
    auto type = RankedTensorType::get({}, builder.getI64Type());
    Value number = nn::ConstantOp::create(builder, loc, nn::Placement::replicated().place(type),
                                          DenseElementsAttr::get(type, targets));
    count = nn::ElementwiseOp::create(builder, loc, nn::ElementwiseFn::mul, ValueRange{count, number});
  }
  Value total = nn::TotalOp::create(builder, loc, nn::Placement::replicated().place(count.getType()), count);
  for (nn::BatchSizeOp size : sizes) {
    for (Operation *product : llvm::make_early_inc_range(size->getUsers()))
      if (targets != 1) {
        product->replaceAllUsesWith(ValueRange{total});
        product->erase();
      }
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
    if (auto mask = operand.getDefiningOp<nn::MaskRowsOp>(); mask && mask.getValid() == valid)
      continue;
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
