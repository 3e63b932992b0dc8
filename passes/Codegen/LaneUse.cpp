// SPDX-License-Identifier: Apache-2.0
// Along which axis vectors pay: what the reductions below a value do with one of its axes.
#include "passes/Codegen/Part.h"

using namespace mlir;

namespace accum::codegen {
namespace {

LaneUse worse(LaneUse a, LaneUse b) { return std::max(a, b); }

int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

/// Each axis of a value is looked at once: a chain of `x * x` has a path for every subset of its ops.
class LaneUses {
public:
  LaneUse of(Value value, int64_t axis) {
    auto [it, isNew] = known.try_emplace({value, axis}, LaneUse::Free);
    if (!isNew)
      return it->second;
    LaneUse use = look(value, axis);
    return known[{value, axis}] = use;
  }

private:
  LaneUse look(Value value, int64_t axis);
  LaneUse throughBroadcast(Value operand, int64_t axis, int64_t rank);
  LaneUse throughReduce(Value input, ArrayRef<int64_t> axes, int64_t axis);
  LaneUse throughReshape(nn::ReshapeOp op, int64_t axis);
  LaneUse throughGather(nn::GatherOp op, int64_t axis);

  llvm::DenseMap<std::pair<Value, int64_t>, LaneUse> known;
};

/// Through right-aligned broadcasting; an axis of one element does not follow.
LaneUse LaneUses::throughBroadcast(Value operand, int64_t axis, int64_t rank) {
  int64_t own = axis - (rank - rankOf(operand));
  if (own < 0 || cast<RankedTensorType>(operand.getType()).getDimSize(own) == 1)
    return LaneUse::Free;
  return of(operand, own);
}

LaneUse LaneUses::throughReduce(Value input, ArrayRef<int64_t> axes, int64_t axis) {
  auto type = cast<RankedTensorType>(input.getType());
  int64_t last = type.getRank() - 1;
  if (llvm::is_contained(axes, last) && type.getDimSize(last) > 1)
    return LaneUse::Across;
  int64_t from = 0;
  for (int64_t kept = -1; from < type.getRank(); ++from)
    if (!llvm::is_contained(axes, from) && ++kept == axis)
      break;
  return worse(LaneUse::PerLane, of(input, from));
}

LaneUse throughContract(nn::ContractOp op, int64_t axis) {
  char letter = op.resultLetters()[axis];
  LaneUse use = LaneUse::PerLane;
  for (StringRef letters : {op.lhsLetters(), op.rhsLetters()})
    if (letters.contains(letter) && letters.back() != letter && !op.resultLetters().contains(letters.back()))
      use = LaneUse::Across;
  return use;
}

LaneUse LaneUses::throughReshape(nn::ReshapeOp op, int64_t axis) {
  // Only the last axis is asked about in practice; it follows to the last one.
  return axis + 1 == rankOf(op) && rankOf(op.getInput()) > 0 ? of(op.getInput(), rankOf(op.getInput()) - 1)
                                                             : LaneUse::Free;
}

LaneUse LaneUses::throughGather(nn::GatherOp op, int64_t axis) {
  int64_t batch = op.getBatchDims(), picked = rankOf(op.getIndices()) - batch, first = op.getAxis();
  if (axis < first)
    return of(op.getInput(), axis);
  if (axis < first + picked)
    return of(op.getIndices(), axis - first + batch);
  return of(op.getInput(), axis - picked + 1);
}

LaneUse LaneUses::look(Value value, int64_t axis) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return LaneUse::Free;
  return llvm::TypeSwitch<Operation *, LaneUse>(op)
      .Case<nn::ReduceOp>(
          [&](auto reduce) { return throughReduce(reduce.getInput(), reduce.getAxes(), axis); })
      .Case<nn::ArgReduceOp>(
          [&](auto reduce) { return throughReduce(reduce.getInput(), {int64_t(reduce.getAxis())}, axis); })
      .Case<nn::ContractOp>([&](auto contract) { return throughContract(contract, axis); })
      .Case<nn::ReshapeOp>([&](auto reshape) { return throughReshape(reshape, axis); })
      .Case<nn::GatherOp>([&](auto gather) { return throughGather(gather, axis); })
      .Case<nn::TransposeOp>(
          [&](auto transpose) { return of(transpose.getInput(), transpose.getPerm()[axis]); })
      .Default([&](Operation *) {
        LaneUse use = LaneUse::Free;
        for (Value operand : op->getOperands())
          use = worse(use, throughBroadcast(operand, axis, rankOf(value)));
        return use;
      });
}

} // namespace

LaneUse laneUseOf(Value value, int64_t axis) { return LaneUses().of(value, axis); }

} // namespace accum::codegen
