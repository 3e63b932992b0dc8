// SPDX-License-Identifier: Apache-2.0
// Reductions and scans: shapes.
#include "dialects/NN/NNDialect.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/NN/NNReduction.cpp.inc"

namespace accum::nn {

void detail::addReductionOps(Dialect *dialect) {
  RegisteredOperationName::insert<ReduceOp>(*dialect);
  RegisteredOperationName::insert<ArgReduceOp>(*dialect);
  RegisteredOperationName::insert<CumSumOp>(*dialect);
  RegisteredOperationName::insert<TopKOp>(*dialect);
}

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getOperands()[0].getType());
  ArrayRef<int64_t> axes = adaptor.getAxes();
  SmallVector<int64_t> shape;
  for (auto [i, extent] : llvm::enumerate(input.getShape()))
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      shape.push_back(extent);
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

bool ReduceOp::isCompatibleReturnTypes(TypeRange l, TypeRange r) { return sameSlabs(l, r); }

LogicalResult ReduceOp::verify() {
  int64_t rank = cast<RankedTensorType>(getInput().getType()).getRank(), previous = -1;
  for (int64_t axis : getAxes()) {
    if (axis <= previous || axis >= rank)
      return emitOpError("axes are not ascending axes of the input");
    previous = axis;
  }
  bool isExtremum = getKind() == ReduceKind::max || getKind() == ReduceKind::min;
  if (getFirst() && !(isExtremum && getAxes().size() == 1))
    return emitOpError("has a first extremum over one axis only");
  return success();
}

/// The shape of `type` without `axis`.
static SmallVector<int64_t> withoutAxis(RankedTensorType type, int64_t axis) {
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + axis);
  return shape;
}

static LogicalResult verifyAxis(Operation *op, Value input, uint64_t axis) {
  if (static_cast<int64_t>(axis) >= 0 && static_cast<int64_t>(axis) < slabOf(input.getType()).getRank())
    return success();
  return op->emitOpError("has no axis ") << axis << " in " << slabOf(input.getType());
}

LogicalResult ArgReduceOp::verify() {
  if (failed(verifyAxis(*this, getInput(), getAxis())))
    return failure();
  if (getKind() != ReduceKind::max && getKind() != ReduceKind::min)
    return emitOpError("finds the largest or the smallest, not the ") << stringifyReduceKind(getKind());
  auto type =
      RankedTensorType::get(withoutAxis(slabOf(getInput().getType()), static_cast<int64_t>(getAxis())),
                            IntegerType::get(getContext(), 64));
  return slabOf(getType()) == type
             ? success()
             : LogicalResult(emitOpError("gives ") << type << ", not " << slabOf(getType()));
}

LogicalResult CumSumOp::verify() {
  if (failed(verifyAxis(*this, getInput(), getAxis())))
    return failure();
  if (getLog() && (getExclusive() || !isa<FloatType>(slabOf(getType()).getElementType())))
    return emitOpError("takes the logarithm of a running sum of floats that counts each element itself");
  return verifySameSlab(*this, getInput());
}

LogicalResult TopKOp::verify() {
  if (failed(verifyAxis(*this, getInput(), getAxis())))
    return failure();
  RankedTensorType input = slabOf(getInput().getType());
  auto axis = static_cast<int64_t>(getAxis()), k = static_cast<int64_t>(getK());
  if (k < 0 || k > input.getDimSize(axis))
    return emitOpError("takes ") << k << " of " << input.getDimSize(axis);
  SmallVector<int64_t> shape(input.getShape());
  shape[axis] = k;
  if (slabOf(getValues().getType()) != RankedTensorType::get(shape, input.getElementType()) ||
      slabOf(getIndices().getType()) != RankedTensorType::get(shape, IntegerType::get(getContext(), 64)))
    return emitOpError("gives values of the input's type, and i64 indices, of its shape with ")
           << k << " along axis " << axis;
  return success();
}

} // namespace accum::nn
