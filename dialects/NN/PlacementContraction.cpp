// SPDX-License-Identifier: Apache-2.0
// Placement rules of contractions.
#include "dialects/NN/PlacementRules.h"

using namespace mlir;
using namespace accum::nn::rule;
using Kind = accum::nn::Refusal::Kind;

namespace accum::nn {

/// Both operands are batched: on one letter (kept: batched, summed: partial), or every sample meets every
/// other.
static LogicalResult inferBothBatched(ContractOp op, Placements operands, Results &results, Refusal &why) {
  char l = op.lhsLetters()[operands[0].dim], r = op.rhsLetters()[operands[1].dim];
  if (l != r)
    return refuse(why, Kind::PairsSamples,
                  "multiplies " + wholeShape(op.getLhs(), operands[0]) + " by " +
                      wholeShape(op.getRhs(), operands[1]) + ": entry (i, j) pairs sample i with sample j");
  if (!sameLayout(op.getLhs(), operands[0], op.getRhs(), operands[1]))
    return refuse(why, Kind::PairsSamples, "multiplies two values whose samples lie in different orders");
  size_t axis = op.resultLetters().find(l);
  results.assign(1, axis == StringRef::npos ? Placement::partial()
                                            : Placement::batched(axis, operands[0].outer));
  return success();
}

LogicalResult ContractOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  FailureOr<bool> settled = settlePartials(*this, operands, {0, 1}, results, why);
  if (failed(settled) || *settled)
    return settled;
  if (allReplicated(operands)) {
    results.assign(1, Placement::replicated());
    return success();
  }
  if (operands[0].isBatched() && operands[1].isBatched())
    return inferBothBatched(*this, operands, results, why);
  unsigned batched = operands[0].isBatched() ? 0 : 1;
  StringRef letters[] = {lhsLetters(), rhsLetters()};
  char letter = letters[batched][operands[batched].dim];
  if (letters[1 - batched].contains(letter))
    return refuse(why, Kind::BatchBakedIn,
                  "multiplies along the batch axis by a value of fixed shape " +
                      wholeShape(getOperand(1 - batched), operands[1 - batched]),
                  {1 - batched});
  results.assign(1, Placement::batched(resultLetters().find(letter), operands[batched].outer));
  return success();
}

} // namespace accum::nn
