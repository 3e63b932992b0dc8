// SPDX-License-Identifier: Apache-2.0
// Placement rules of attention: every sample attends to itself.
#include "dialects/NN/PlacementRules.h"

using namespace mlir;
using namespace accum::nn::rule;
using Kind = accum::nn::Refusal::Kind;

namespace accum::nn {

/// Where the samples of a mask may be: on axis 0 as the queries', or nowhere.
static LogicalResult checkMask(Operation *op, unsigned mask, Placements operands, Refusal &why) {
  Value value = op->getOperand(mask);
  if (operands[mask].isBatched() && operands[0].isBatched()) {
    if (operands[mask].dim == 0 && sameLayout(value, operands[mask], op->getOperand(0), operands[0]))
      return success();
    return refuse(why, Kind::PairsSamples,
                  "masks " + wholeShape(op->getOperand(0), operands[0]) + " by " +
                      wholeShape(value, operands[mask]) + ", whose samples lie otherwise");
  }
  if (operands[mask].isBatched())
    return refuse(why, Kind::PairsSamples, "masks a value that is the same for all samples by the batch");
  if (operands[0].isBatched() && shapeOf(value)[0] != 1)
    return refuse(why, Kind::BatchBakedIn,
                  "masks the batch by a value of fixed shape " + wholeShape(value, operands[mask]), {mask});
  return success();
}

/// Queries, keys and values (and what else lies like them) have the samples on axis 0, all in one order.
static LogicalResult inferAttention(Operation *op, Value mask, Placements operands, Results &results,
                                    Refusal &why) {
  Placement query = operands[0];
  if (query.isBatched() && query.dim != 0)
    return refuse(why, Kind::MixesSamples,
                  "attends with the batch along axis " + Twine(query.dim) + " of " +
                      wholeShape(op->getOperand(0), query));
  unsigned alike = op->getNumOperands() - (mask ? 1 : 0);
  for (unsigned i = 1; i < alike; ++i) {
    Value value = op->getOperand(i);
    if (operands[i].isBatched() != query.isBatched()) {
      unsigned fixed = query.isBatched() ? i : 0;
      return refuse(why, Kind::BatchBakedIn,
                    "attends between the batch and a value of fixed shape " +
                        wholeShape(op->getOperand(fixed), operands[fixed]),
                    {fixed});
    }
    if (operands[i].isBatched() && operands[i].dim != 0)
      return refuse(why, Kind::MixesSamples,
                    "attends with the batch along axis " + Twine(operands[i].dim) + " of " +
                        wholeShape(value, operands[i]));
    if (query.isBatched() && !sameLayout(op->getOperand(0), query, value, operands[i]))
      return refuse(why, Kind::PairsSamples, "attends from one sample to another: their orders differ");
  }
  if (mask && failed(checkMask(op, alike, operands, why)))
    return failure();
  results.assign(op->getNumResults(), query);
  return success();
}

LogicalResult AttentionOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  FailureOr<bool> settled = settlePartials(*this, operands, {}, results, why);
  if (failed(settled) || *settled)
    return settled;
  return inferAttention(*this, getMask(), operands, results, why);
}

LogicalResult AttentionBwdOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  constexpr unsigned doutput = 5;
  FailureOr<bool> settled = settlePartials(*this, operands, {doutput}, results, why);
  if (failed(settled) || *settled)
    return settled;
  return inferAttention(*this, getMask(), operands, results, why);
}

} // namespace accum::nn
