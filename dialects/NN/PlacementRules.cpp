// SPDX-License-Identifier: Apache-2.0
// What the placement rules of all kinds of ops share.
#include "dialects/NN/PlacementRules.h"

#include "dialects/NN/Placement.cpp.inc"

using namespace mlir;

namespace accum::nn::rule {

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

int64_t rankOf(Value value) { return static_cast<int64_t>(shapeOf(value).size()); }

int64_t rowsOf(Value value, Placement placement) { return shapeOf(value)[placement.dim] / placement.outer; }

LogicalResult refuse(Refusal &why, Refusal::Kind kind, const Twine &sentence, ArrayRef<unsigned> operands) {
  why.kind = kind;
  why.sentence = sentence.str();
  why.operands.assign(operands.begin(), operands.end());
  return failure();
}

std::string wholeShape(Value value, Placement placement) {
  std::string text = "[";
  for (auto [i, extent] : llvm::enumerate(shapeOf(value))) {
    text += i ? ", " : "";
    if (!placement.isBatched() || placement.dim != static_cast<int64_t>(i))
      text += std::to_string(extent);
    else
      text += extent == 1 ? "N" : std::to_string(extent) + "N";
  }
  return text + "]";
}

Placement declared(Value result) {
  auto type = cast<RankedTensorType>(result.getType());
  if (auto extent = dyn_cast_or_null<ExtentAttr>(type.getEncoding()))
    return extent.getDims().size() == 1 ? Placement::batched(extent.getDims()[0]) : Placement();
  return Placement::of(type);
}

bool allReplicated(Placements operands) {
  return llvm::all_of(operands, [](Placement p) { return p.isReplicated(); });
}

bool anyBatched(Placements operands) {
  return llvm::any_of(operands, [](Placement p) { return p.isBatched(); });
}

SmallVector<unsigned, 2> partialsOf(Placements operands) {
  SmallVector<unsigned, 2> partials;
  for (auto [i, placement] : llvm::enumerate(operands))
    if (placement.isPartial())
      partials.push_back(i);
  return partials;
}

static bool isZeroAttr(Attribute value) {
  auto splat = dyn_cast<SplatElementsAttr>(value);
  if (!splat)
    return false;
  if (isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>().isZero();
  return isa<IntegerType>(splat.getElementType()) && splat.getSplatValue<APInt>().isZero();
}

bool isZero(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto constant = dyn_cast<ConstantOp>(op))
      return isZeroAttr(constant.getValue());
    if (!isa<ReshapeOp, BroadcastOp, TransposeOp, CastOp, SliceOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

static LogicalResult refuseMixture(Placements operands, Refusal &why) {
  return refuse(why, Refusal::Kind::SumMeetsSamples,
                "uses a sum over all samples of the batch for each single sample", partialsOf(operands));
}

static LogicalResult refuseNonLinear(Operation *op, ArrayRef<unsigned> sums, Refusal &why) {
  auto elementwise = dyn_cast<ElementwiseOp>(op);
  std::string what = "applies a function that is not linear to a sum";
  if (elementwise && elementwise.getFn() == ElementwiseFn::mul)
    what = "multiplies sums";
  else if (elementwise)
    what = "applies `" + stringifyElementwiseFn(elementwise.getFn()).str() + "` to a sum";
  return refuse(why, Refusal::Kind::NonLinearInSum,
                what + " over the samples, of which a micro-step has only its own terms", sums);
}

FailureOr<bool> settlePartials(Operation *op, Placements operands, ArrayRef<unsigned> linear,
                               Results &results, Refusal &why) {
  SmallVector<unsigned, 2> partials = partialsOf(operands);
  if (partials.empty())
    return false;
  if (anyBatched(operands))
    return refuseMixture(operands, why);
  if (partials.size() > 1 || !llvm::is_contained(linear, partials[0]))
    return refuseNonLinear(op, partials, why);
  results.assign(op->getNumResults(), Placement::partial());
  return true;
}

FailureOr<bool> settleSum(Operation *op, Placements operands, ArrayRef<unsigned> terms, Results &results,
                          Refusal &why) {
  SmallVector<unsigned, 2> partials = partialsOf(operands), fixed, shared;
  if (partials.empty())
    return false;
  if (anyBatched(operands))
    return refuseMixture(operands, why);
  for (unsigned i : partials)
    if (!llvm::is_contained(terms, i))
      fixed.push_back(i);
  if (!fixed.empty())
    return refuseNonLinear(op, fixed, why);
  for (unsigned i : terms)
    if (operands[i].isReplicated() && !isZero(op->getOperand(i)))
      shared.push_back(i);
  if (!shared.empty())
    return refuse(why, Refusal::Kind::ReplicatedTerm,
                  "adds a value that is the same for all samples to a sum over them", shared);
  results.assign(op->getNumResults(), Placement::partial());
  return true;
}

bool sameLayout(Value a, Placement pa, Value b, Placement pb) {
  return pa.outer == pb.outer && rowsOf(a, pa) == rowsOf(b, pb);
}

} // namespace accum::nn::rule
