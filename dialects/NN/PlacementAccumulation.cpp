// SPDX-License-Identifier: Apache-2.0
// Placement rules of what cutting the batch adds.
#include "dialects/NN/PlacementRules.h"

using namespace mlir;
using namespace accum::nn::rule;
using Kind = accum::nn::Refusal::Kind;

namespace accum::nn {

LogicalResult TotalOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  if (!operands[0].isPartial())
    return refuse(why, Kind::Misplaced, "takes the total of a value that is not partial");
  results.assign(1, Placement::replicated());
  return success();
}

LogicalResult MaskRowsOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  Placement wanted = Placement::batched(getDim(), getOuter());
  if (operands[0] != wanted || operands[1] != Placement::batched(0))
    return refuse(why, Kind::Misplaced, "masks rows that are not samples");
  results.assign(1, wanted);
  return success();
}

LogicalResult ShareOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  if (!allReplicated(operands))
    return refuse(why, Kind::Misplaced, "shares a value that is not replicated");
  results.assign(1, Placement::partial());
  return success();
}

LogicalResult BatchSizeOp::inferPlacements(Placements, Results &results, Refusal &) {
  results.assign(1, Placement::replicated());
  return success();
}

} // namespace accum::nn
