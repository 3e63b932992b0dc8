// SPDX-License-Identifier: Apache-2.0
// Placement rules of dropout and of other numbers that are drawn.
#include "dialects/NN/PlacementRules.h"

using namespace mlir;
using namespace accum::nn::rule;
using Kind = accum::nn::Refusal::Kind;

namespace accum::nn {

/// What the generator is keyed by, and the number of the first sample, or, where samples draw, those of all.
static bool isSource(Placements source, Placement drawn) {
  return source.size() == 2
             ? source[0].isReplicated() &&
                   (source[1].isReplicated() || (drawn.isBatched() && source[1] == Placement::batched(0)))
             : allReplicated(source);
}

/// A batched value is masked by sample; any other one by element only, so that the mask of a replicated value
/// is the same for all samples and that of a partial the same in all its terms. Once `dim` is there it must
/// say so too.
LogicalResult DropoutOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  Placement placement = operands[0];
  if (!isSource(operands.drop_front(), placement))
    return refuse(why, Kind::Misplaced, "draws from a generator that differs from sample to sample");
  if (getDim() && placement != Placement::batched(*getDim(), getOuter().value_or(1)))
    return refuse(why, Kind::Misplaced, "is keyed by samples on another axis than the value has them");
  results.assign(1, placement);
  return success();
}

/// A value of several samples has numbers of each one's own; any other one has the same for all of them, also
/// where the sum that it is like differs from term to term. Without an example the result's type says it.
LogicalResult RandomOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  auto extent = dyn_cast_or_null<ExtentAttr>(cast<RankedTensorType>(getType()).getEncoding());
  if (extent && extent.getDims().size() > 1)
    return refuse(why, Kind::PairsSamples, "draws numbers for every pair of samples");
  Placement placement = getLike() ? operands[0] : declared(getResult());
  if (!placement.isBatched() && !placement.isWhole())
    placement = Placement::replicated();
  if (!isSource(operands.drop_front(getLike() ? 1 : 0), placement))
    return refuse(why, Kind::Misplaced, "draws from a generator that differs from sample to sample");
  if (getDim() && placement != Placement::batched(*getDim(), getOuter().value_or(1)))
    return refuse(why, Kind::Misplaced, "is keyed by samples on another axis than the value has them");
  results.assign(1, placement);
  return success();
}

} // namespace accum::nn
