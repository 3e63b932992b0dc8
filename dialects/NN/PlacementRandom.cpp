// SPDX-License-Identifier: Apache-2.0
// Placement rule of dropout.
#include "dialects/NN/PlacementRules.h"

using namespace mlir;
using namespace accum::nn::rule;
using Kind = accum::nn::Refusal::Kind;

namespace accum::nn {

/// A batched value is masked by sample; any other one by element only, so that the mask of a replicated value
/// is the same for all samples and that of a partial the same in all its terms. Once `dim` is there it must
/// say so too.
LogicalResult DropoutOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  Placement placement = operands[0];
  if (!allReplicated(operands.drop_front()))
    return refuse(why, Kind::Misplaced, "draws from a generator that differs from sample to sample");
  if (getDim() && placement != Placement::batched(*getDim(), getOuter().value_or(1)))
    return refuse(why, Kind::Misplaced, "is keyed by samples on another axis than the value has them");
  results.assign(1, placement);
  return success();
}

} // namespace accum::nn
