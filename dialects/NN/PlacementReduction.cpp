// SPDX-License-Identifier: Apache-2.0
// Placement rules of reductions and scans.
#include "dialects/NN/PlacementRules.h"

using namespace mlir;
using namespace accum::nn::rule;
using Kind = accum::nn::Refusal::Kind;

namespace accum::nn {

/// `placement` of a value whose axes `axes`, not the batch axis, are dropped.
static Placement dropAxes(Placement placement, ArrayRef<int64_t> axes) {
  if (placement.isBatched())
    placement.dim -= llvm::count_if(axes, [&](int64_t axis) { return axis < placement.dim; });
  return placement;
}

/// "takes the maximum over the batch axis 0 of [N, 8]".
static LogicalResult refuseOverBatch(const Twine &what, Value input, Placement placement, Refusal &why) {
  return refuse(why, Kind::MixesSamples,
                "takes " + what + " over the batch axis " + Twine(placement.dim) + " of " +
                    wholeShape(input, placement) + ", so that every sample's result depends on all others");
}

static StringRef nounOf(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::sum:
    return "the sum";
  case ReduceKind::max:
    return "the maximum";
  case ReduceKind::min:
    return "the minimum";
  case ReduceKind::prod:
    return "the product";
  }
  llvm_unreachable("all kinds handled");
}

LogicalResult ReduceOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  bool isSum = getKind() == ReduceKind::sum;
  FailureOr<bool> settled =
      settlePartials(*this, operands, isSum ? ArrayRef<unsigned>{0} : ArrayRef<unsigned>(), results, why);
  if (failed(settled) || *settled)
    return settled;
  bool overBatch = operands[0].isBatched() && llvm::is_contained(getAxes(), operands[0].dim);
  if (overBatch && !isSum)
    return refuseOverBatch(nounOf(getKind()), getInput(), operands[0], why);
  results.assign(1, overBatch ? Placement::partial() : dropAxes(operands[0], getAxes()));
  return success();
}

LogicalResult ArgReduceOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  FailureOr<bool> settled = settlePartials(*this, operands, {}, results, why);
  if (failed(settled) || *settled)
    return settled;
  int64_t axis = getAxis();
  if (operands[0].isBatched() && operands[0].dim == axis)
    return refuseOverBatch("the index of " + nounOf(getKind()), getInput(), operands[0], why);
  results.assign(1, dropAxes(operands[0], axis));
  return success();
}

LogicalResult CumSumOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  if (getLog())
    if (FailureOr<bool> settled = settlePartials(*this, operands, {}, results, why);
        failed(settled) || *settled)
      return settled;
  if (operands[0].isBatched() && operands[0].dim == static_cast<int64_t>(getAxis()))
    return refuseOverBatch("a running sum", getInput(), operands[0], why);
  results.assign(1, operands[0]);
  return success();
}

LogicalResult TopKOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  FailureOr<bool> settled = settlePartials(*this, operands, {}, results, why);
  if (failed(settled) || *settled)
    return settled;
  if (operands[0].isBatched() && operands[0].dim == static_cast<int64_t>(getAxis()))
    return refuseOverBatch("the " + Twine(getK()) + (getSmallest() ? " smallest" : " largest"), getInput(),
                           operands[0], why);
  results.assign(2, operands[0]);
  return success();
}

} // namespace accum::nn
