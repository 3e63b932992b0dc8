// SPDX-License-Identifier: Apache-2.0
// Indexed reads: shapes.
#include "dialects/NN/NNDialect.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/NN/NNGather.cpp.inc"

namespace accum::nn {

void detail::addGatherOps(Dialect *dialect) {
  RegisteredOperationName::insert<GatherOp>(*dialect);
  RegisteredOperationName::insert<ScatterAddOp>(*dialect);
  RegisteredOperationName::insert<GatherElementsOp>(*dialect);
  RegisteredOperationName::insert<ScatterElementsAddOp>(*dialect);
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getOperands()[0].getType());
  auto indices = cast<RankedTensorType>(adaptor.getOperands()[1].getType());
  int64_t axis = adaptor.getAxis(), batchDims = adaptor.getBatchDims();
  if (batchDims < 0 || axis < batchDims || axis >= input.getRank() || batchDims > indices.getRank())
    return emitOptionalError(location, "axis ", axis, " and batch_dims ", batchDims,
                             " do not fit the operands");
  SmallVector<int64_t> shape(input.getShape().take_front(axis));
  llvm::append_range(shape, indices.getShape().drop_front(batchDims));
  llvm::append_range(shape, input.getShape().drop_front(axis + 1));
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

bool GatherOp::isCompatibleReturnTypes(TypeRange l, TypeRange r) { return sameSlabs(l, r); }

void GatherOp::build(OpBuilder &builder, OperationState &state, Value input, Value indices, int64_t axis,
                     int64_t batchDims) {
  build(builder, state, input, indices, builder.getI64IntegerAttr(axis),
        builder.getI64IntegerAttr(batchDims));
}

LogicalResult GatherOp::verify() {
  if (!cast<RankedTensorType>(getIndices().getType()).getElementType().isInteger())
    return emitOpError("indices are not integers");
  return success();
}

} // namespace accum::nn
