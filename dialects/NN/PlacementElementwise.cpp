// SPDX-License-Identifier: Apache-2.0
// Placement rules of constants and elementwise ops.
#include "dialects/NN/Boundary.h"
#include "dialects/NN/PlacementRules.h"

using namespace mlir;
using namespace accum::nn::rule;
using Kind = accum::nn::Refusal::Kind;

namespace accum::nn {

/// A constant that is the same everywhere may be read with any number of samples; a zero is also a sum of
/// zeros.
LogicalResult ConstantOp::inferPlacements(Placements, Results &results, Refusal &) {
  Placement wanted = declared(getResult());
  bool fits = (wanted.isBatched() && isa<SplatElementsAttr>(getValue())) ||
              (wanted.isPartial() && isZero(getResult())) || wanted.isWhole();
  results.assign(1, fits ? wanted : Placement::replicated());
  return success();
}

LogicalResult IotaOp::inferPlacements(Placements, Results &results, Refusal &why) {
  Placement wanted = declared(getResult());
  if (wanted.isBatched() && wanted.dim == static_cast<int64_t>(getDim()) &&
      !(*this)->hasAttr(numbersSamplesAttr))
    return refuse(why, Kind::DependsOnPlace, "counts the samples: its values are their places in the batch");
  results.assign(1, wanted.isBatched() ? wanted : Placement::replicated());
  return success();
}

/// Batched operands, aligned right, share one batch axis with one order of samples; replicated ones have
/// extent 1 there.
static LogicalResult inferBroadcast(Operation *op, Placements operands, Results &results, Refusal &why) {
  int64_t rank = rankOf(op->getResult(0));
  std::optional<unsigned> first;
  auto axisOf = [&](unsigned i) { return operands[i].dim + rank - rankOf(op->getOperand(i)); };
  for (unsigned i = 0; i < operands.size(); ++i) {
    if (!operands[i].isBatched())
      continue;
    first = first.value_or(i);
    Value a = op->getOperand(*first), b = op->getOperand(i);
    if (axisOf(i) != axisOf(*first))
      return refuse(why, Kind::PairsSamples,
                    "combines " + wholeShape(a, operands[*first]) + " with " + wholeShape(b, operands[i]) +
                        ": every sample meets every other one");
    if (!sameLayout(a, operands[*first], b, operands[i]))
      return refuse(why, Kind::PairsSamples,
                    "lines up two values whose samples lie in different orders along axis " +
                        Twine(axisOf(i)));
  }
  if (!first) {
    results.assign(1, Placement::replicated());
    return success();
  }
  for (unsigned i = 0; i < operands.size(); ++i) {
    int64_t axis = axisOf(*first) - rank + rankOf(op->getOperand(i));
    if (operands[i].isReplicated() && axis >= 0 && shapeOf(op->getOperand(i))[axis] != 1)
      return refuse(why, Kind::BatchBakedIn,
                    "combines the batch with a value of fixed shape " +
                        wholeShape(op->getOperand(i), operands[i]) + ", whose axis " + Twine(axis) +
                        " is along the samples",
                    {i});
  }
  results.assign(1, Placement::batched(axisOf(*first), operands[*first].outer));
  return success();
}

static FailureOr<bool> settleElementwise(ElementwiseOp op, Placements operands, Results &results,
                                         Refusal &why) {
  bool isFloat = isa<FloatType>(cast<RankedTensorType>(op.getType()).getElementType());
  switch (op.getFn()) {
  case ElementwiseFn::neg:
    return settlePartials(op, operands, {0}, results, why);
  case ElementwiseFn::add:
  case ElementwiseFn::sub:
    return settleSum(op, operands, {0, 1}, results, why);
  case ElementwiseFn::select:
    return settleSum(op, operands, {1, 2}, results, why);
  case ElementwiseFn::mul:
    return settlePartials(op, operands, {0, 1}, results, why);
  case ElementwiseFn::div:
    return isFloat ? settlePartials(op, operands, {0}, results, why)
                   : settlePartials(op, operands, {}, results, why);
  default:
    return settlePartials(op, operands, {}, results, why);
  }
}

LogicalResult ElementwiseOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  FailureOr<bool> settled = settleElementwise(*this, operands, results, why);
  if (failed(settled) || *settled)
    return settled;
  return inferBroadcast(*this, operands, results, why);
}

/// Casts to float, and to a wider integer, are linear; truncation and the test for zero are not.
static bool isLinearCast(Type from, Type to) {
  if (isa<FloatType>(to))
    return true;
  return from.isInteger() && to.isInteger() && !from.isInteger(1) &&
         to.getIntOrFloatBitWidth() >= from.getIntOrFloatBitWidth();
}

LogicalResult CastOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  Type from = cast<RankedTensorType>(getInput().getType()).getElementType();
  Type to = cast<RankedTensorType>(getType()).getElementType();
  if (operands[0].isPartial() && !isLinearCast(from, to))
    return refuse(why, Kind::NonLinearInSum, "rounds a sum over the samples to whole numbers", {0});
  results.assign(1, operands[0]);
  return success();
}

} // namespace accum::nn
