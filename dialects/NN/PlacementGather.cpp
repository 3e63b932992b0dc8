// SPDX-License-Identifier: Apache-2.0
// Placement rules of indexed reads and their transposes. Reads across samples that were proved local to their
// sample arrive here with batch_dims = 1; all other ones on the batch axis are refused.
#include "dialects/NN/PlacementRules.h"

using namespace mlir;
using namespace accum::nn::rule;
using Kind = accum::nn::Refusal::Kind;

namespace accum::nn {

namespace {
/// Axes of gather's operands and result: input [b, l, axis, t], indices [b, i], result [b, l, i, t].
struct GatherAxes {
  int64_t axis, batchDims, indexAxes; // indexAxes: how many axes i has

  /// Axis of the result that axis `dim` (not `axis`) of the input becomes.
  int64_t ofInput(int64_t dim) const { return dim < axis ? dim : dim - 1 + indexAxes; }
  /// Axis of the result that axis `dim` of the indices becomes.
  int64_t ofIndices(int64_t dim) const { return dim < batchDims ? dim : axis + dim - batchDims; }
  /// The indices' axis that runs along axis `dim` of the result, or -1.
  int64_t indexAxis(int64_t dim) const {
    if (dim < batchDims)
      return dim;
    return dim >= axis && dim < axis + indexAxes ? dim - axis + batchDims : -1;
  }
  /// The input's axis that axis `dim` of the result came from, outside i.
  int64_t inputAxis(int64_t dim) const { return dim < axis ? dim : dim - indexAxes + 1; }
};
} // namespace

static LogicalResult refuseFixed(Value fixed, Placement placement, unsigned number, Refusal &why) {
  return refuse(why, Kind::BatchBakedIn,
                "reads along the batch by a value of fixed shape " + wholeShape(fixed, placement), {number});
}

/// The input is batched.
static LogicalResult gatherBatched(GatherOp op, GatherAxes axes, Placements operands, Results &results,
                                   Refusal &why) {
  Placement input = operands[0], indices = operands[1];
  if (input.dim == axes.axis)
    return refuse(why, Kind::TakesPart,
                  "picks samples by index along the batch axis " + Twine(input.dim) + " of " +
                      wholeShape(op.getInput(), input));
  bool aligned = input.dim < axes.batchDims;
  if (aligned && indices.isReplicated())
    return refuseFixed(op.getIndices(), indices, 1, why);
  if (indices.isBatched() &&
      (!aligned || indices.dim != input.dim || !sameLayout(op.getInput(), input, op.getIndices(), indices)))
    return refuse(why, Kind::PairsSamples, "reads values of one sample by the indices of others");
  results.assign(1, Placement::batched(axes.ofInput(input.dim), input.outer));
  return success();
}

LogicalResult GatherOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  FailureOr<bool> settled = settlePartials(*this, operands, {0}, results, why);
  if (failed(settled) || *settled)
    return settled;
  int64_t batchDims = getBatchDims(), axis = getAxis();
  GatherAxes axes{axis, batchDims, rankOf(getIndices()) - batchDims};
  if (operands[0].isBatched())
    return gatherBatched(*this, axes, operands, results, why);
  if (operands[1].isReplicated()) {
    results.assign(1, Placement::replicated());
    return success();
  }
  if (operands[1].dim < batchDims)
    return refuseFixed(getInput(), operands[0], 0, why);
  results.assign(1, Placement::batched(axes.ofIndices(operands[1].dim), operands[1].outer));
  return success();
}

LogicalResult ScatterAddOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  FailureOr<bool> settled = settlePartials(*this, operands, {1}, results, why);
  if (failed(settled) || *settled)
    return settled;
  Placement indices = operands[0], updates = operands[1];
  int64_t batchDims = getBatchDims(), axis = getAxis();
  GatherAxes axes{axis, batchDims, rankOf(getIndices()) - batchDims};
  if (updates.isReplicated()) {
    if (indices.isBatched())
      return refuseFixed(getUpdates(), updates, 1, why);
    results.assign(1, updates);
    return success();
  }
  int64_t indexAxis = axes.indexAxis(updates.dim);
  if (indexAxis >= 0 && indices.isReplicated())
    return refuseFixed(getIndices(), indices, 0, why);
  if (indices.isBatched() &&
      (indices.dim != indexAxis || !sameLayout(getIndices(), indices, getUpdates(), updates)))
    return refuse(why, Kind::PairsSamples, "adds values of one sample at the indices of others");
  bool summed = indexAxis >= batchDims;
  results.assign(1, summed ? Placement::partial()
                           : Placement::batched(axes.inputAxis(updates.dim), updates.outer));
  return success();
}

LogicalResult GatherElementsOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  FailureOr<bool> settled = settlePartials(*this, operands, {0}, results, why);
  if (failed(settled) || *settled)
    return settled;
  Placement input = operands[0], indices = operands[1];
  int64_t axis = getAxis();
  if (input.isBatched() && input.dim == axis)
    return refuse(why, Kind::TakesPart,
                  "picks samples by index along the batch axis " + Twine(axis) + " of " +
                      wholeShape(getInput(), input));
  if (input.isBatched() && indices.isReplicated())
    return refuseFixed(getIndices(), indices, 1, why);
  if (input.isReplicated() && indices.isBatched() && indices.dim != axis)
    return refuseFixed(getInput(), input, 0, why);
  if (input.isBatched() &&
      (indices.dim != input.dim || !sameLayout(getInput(), input, getIndices(), indices)))
    return refuse(why, Kind::PairsSamples, "reads values of one sample by the indices of others");
  results.assign(1, indices);
  return success();
}

LogicalResult ScatterElementsAddOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  FailureOr<bool> settled = settlePartials(*this, operands, {1}, results, why);
  if (failed(settled) || *settled)
    return settled;
  Placement indices = operands[0], updates = operands[1];
  int64_t axis = getAxis();
  if (indices.isReplicated() != updates.isReplicated())
    return refuseFixed(getOperand(indices.isReplicated() ? 0 : 1), Placement::replicated(),
                       indices.isReplicated() ? 0 : 1, why);
  if (updates.isBatched() &&
      (indices.dim != updates.dim || !sameLayout(getIndices(), indices, getUpdates(), updates)))
    return refuse(why, Kind::PairsSamples, "adds values of one sample at the indices of others");
  results.assign(1, updates.isBatched() && updates.dim == axis ? Placement::partial() : updates);
  return success();
}

} // namespace accum::nn
