// SPDX-License-Identifier: Apache-2.0
// Softmax and layer norms: shapes.
#include "dialects/NN/NNDialect.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/NN/NNNorm.cpp.inc"

namespace accum::nn {

void detail::addNormOps(Dialect *dialect) {
  RegisteredOperationName::insert<SoftmaxOp>(*dialect);
  RegisteredOperationName::insert<LayerNormOp>(*dialect);
  RegisteredOperationName::insert<RmsNormOp>(*dialect);
}

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  auto input = slabOf(adaptor.getOperands()[0].getType());
  if (static_cast<int64_t>(adaptor.getAxis()) >= input.getRank() || !isa<FloatType>(input.getElementType()))
    return emitOptionalError(location, "axis ", adaptor.getAxis(), " is no axis of floats of the input");
  types.push_back(input);
  return success();
}

bool SoftmaxOp::isCompatibleReturnTypes(TypeRange l, TypeRange r) { return sameSlabs(l, r); }

/// Whether `affine`, scales or biases, are as long as the rows of `input` that start at `axis`; also where
/// there are none.
static bool fitsRows(ValueRange affine, RankedTensorType input, int64_t axis) {
  return llvm::all_of(affine, [&](Value value) {
    return slabOf(value.getType()) ==
           RankedTensorType::get(input.getShape().drop_front(axis), input.getElementType());
  });
}

/// The statistics of the rows that start at `axis`.
static RankedTensorType statisticsOf(RankedTensorType input, int64_t axis) {
  return RankedTensorType::get(input.getShape().take_front(axis), input.getElementType());
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto input = slabOf(adaptor.getOperands()[0].getType());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= input.getRank())
    return emitOptionalError(location, "axis ", axis, " is not an axis of the input");
  if (!fitsRows(adaptor.getOperands().drop_front(), input, axis))
    return emitOptionalError(location, "scale or bias are not of the normalised axes' type");
  types.append({input, statisticsOf(input, axis), statisticsOf(input, axis)});
  return success();
}

bool LayerNormOp::isCompatibleReturnTypes(TypeRange l, TypeRange r) { return sameSlabs(l, r); }

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  auto input = slabOf(adaptor.getOperands()[0].getType());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= input.getRank())
    return emitOptionalError(location, "axis ", axis, " is not an axis of the input");
  if (!fitsRows(adaptor.getOperands().drop_front(), input, axis))
    return emitOptionalError(location, "scale or bias are not of the normalised axes' type");
  types.append({input, statisticsOf(input, axis)});
  return success();
}

bool RmsNormOp::isCompatibleReturnTypes(TypeRange l, TypeRange r) { return sameSlabs(l, r); }

} // namespace accum::nn
