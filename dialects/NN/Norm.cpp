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

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  types.push_back(slabOf(adaptor.getOperands()[0].getType()));
  return success();
}

bool SoftmaxOp::isCompatibleReturnTypes(TypeRange l, TypeRange r) { return sameSlabs(l, r); }

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
  types.append({input, statisticsOf(input, axis)});
  return success();
}

bool RmsNormOp::isCompatibleReturnTypes(TypeRange l, TypeRange r) { return sameSlabs(l, r); }

} // namespace accum::nn
