// SPDX-License-Identifier: Apache-2.0
// Placement rules of row normalisations.
#include "dialects/NN/PlacementRules.h"

using namespace mlir;
using namespace accum::nn::rule;
using Kind = accum::nn::Refusal::Kind;

namespace accum::nn {

LogicalResult SoftmaxOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  FailureOr<bool> settled = settlePartials(*this, operands, {}, results, why);
  if (failed(settled) || *settled)
    return settled;
  if (operands[0].isBatched() && operands[0].dim == static_cast<int64_t>(getAxis()))
    return refuse(why, Kind::MixesSamples,
                  "takes the softmax over the batch axis " + Twine(operands[0].dim) + " of " +
                      wholeShape(getInput(), operands[0]) +
                      ", so that every sample's result depends on all others");
  results.assign(1, operands[0]);
  return success();
}

/// Rows start at `axis`; scale and bias lie along a row, so they are the same for all samples.
static LogicalResult inferRows(Operation *op, int64_t axis, Placements operands, Results &results,
                               Refusal &why) {
  FailureOr<bool> settled = settlePartials(op, operands, {}, results, why);
  if (failed(settled) || *settled)
    return settled;
  if (operands[0].isBatched() && operands[0].dim >= axis)
    return refuse(why, Kind::MixesSamples,
                  "normalises over the batch axis " + Twine(operands[0].dim) + " of " +
                      wholeShape(op->getOperand(0), operands[0]) +
                      ": mean and variance are taken over all samples");
  if (anyBatched(operands.drop_front()))
    return refuse(why, Kind::BatchBakedIn,
                  "scales a row, whose extents are fixed, by values along the batch");
  results.assign(op->getNumResults(), operands[0]);
  return success();
}

LogicalResult LayerNormOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  return inferRows(*this, getAxis(), operands, results, why);
}

LogicalResult RmsNormOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  return inferRows(*this, getAxis(), operands, results, why);
}

} // namespace accum::nn
