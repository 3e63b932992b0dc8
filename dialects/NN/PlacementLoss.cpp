// SPDX-License-Identifier: Apache-2.0
// Placement rules of losses.
#include "dialects/NN/PlacementRules.h"

using namespace mlir;
using namespace accum::nn::rule;
using Kind = accum::nn::Refusal::Kind;

namespace accum::nn {

/// All operands have the samples on one axis, which is not the classes' (the logits' last): the results'
/// placement.
static LogicalResult inferRows(Operation *op, Placements operands, Results &results, Refusal &why) {
  Placement logits = operands[0];
  if (logits.isBatched() && logits.dim == rankOf(op->getOperand(0)) - 1)
    return refuse(why, Kind::MixesSamples,
                  "takes the batch axis " + Twine(logits.dim) + " of " +
                      wholeShape(op->getOperand(0), logits) + " for the classes");
  for (auto [i, placement] : llvm::enumerate(operands)) {
    if (placement.isBatched() != logits.isBatched()) {
      unsigned fixed = logits.isBatched() ? i : 0;
      return refuse(why, Kind::BatchBakedIn,
                    "compares the batch with a value of fixed shape " +
                        wholeShape(op->getOperand(fixed), operands[fixed]),
                    {fixed});
    }
    if (logits.isBatched() &&
        (placement.dim != logits.dim || !sameLayout(op->getOperand(0), logits, op->getOperand(i), placement)))
      return refuse(why, Kind::PairsSamples, "compares logits of one sample with labels of others");
  }
  results.assign(op->getNumResults(), logits);
  return success();
}

LogicalResult CrossEntropyOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  FailureOr<bool> settled = settlePartials(*this, operands, {}, results, why);
  if (failed(settled) || *settled)
    return settled;
  return inferRows(*this, operands, results, why);
}

LogicalResult CrossEntropyGradOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  FailureOr<bool> settled = settlePartials(*this, operands, {3}, results, why);
  if (failed(settled) || *settled)
    return settled;
  return inferRows(*this, operands, results, why);
}

} // namespace accum::nn
