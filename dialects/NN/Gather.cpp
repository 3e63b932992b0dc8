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
  bool bothBatched = bool(input.getEncoding()) == bool(indices.getEncoding()); // else check says it
  if (bothBatched && input.getShape().take_front(batchDims) != indices.getShape().take_front(batchDims))
    return emitOptionalError(location, "the first ", batchDims, " axes of input and indices differ");
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

static LogicalResult verifyIndices(Operation *op, Value indices) {
  return cast<RankedTensorType>(indices.getType()).getElementType().isInteger()
             ? success()
             : LogicalResult(op->emitOpError("indices are not integers"));
}

LogicalResult GatherOp::verify() { return verifyIndices(*this, getIndices()); }

/// `picked` is what a gather with `indices` reads of `whole`.
LogicalResult ScatterAddOp::verify() {
  if (failed(verifyIndices(*this, getIndices())))
    return failure();
  auto whole = slabOf(getType()), indices = slabOf(getIndices().getType()),
       picked = slabOf(getUpdates().getType());
  auto axis = static_cast<int64_t>(getAxis()), batchDims = static_cast<int64_t>(getBatchDims());
  if (batchDims < 0 || axis < batchDims || axis >= whole.getRank() || batchDims > indices.getRank())
    return emitOpError("axis ") << axis << " and batch_dims " << batchDims << " do not fit the result";
  SmallVector<int64_t> shape(whole.getShape().take_front(axis));
  llvm::append_range(shape, indices.getShape().drop_front(batchDims));
  llvm::append_range(shape, whole.getShape().drop_front(axis + 1));
  auto expected = RankedTensorType::get(shape, whole.getElementType());
  return picked == expected
             ? success()
             : LogicalResult(emitOpError("adds updates of ") << expected << ", not " << picked);
}

/// `picked` has the indices' shape, which lies within that of `whole` but for `axis`.
static LogicalResult verifyElements(Operation *op, Type whole, Value indices, Type picked, uint64_t axis) {
  if (failed(verifyIndices(op, indices)))
    return failure();
  RankedTensorType of = slabOf(whole), at = slabOf(indices.getType()), found = slabOf(picked);
  if (of.getRank() != at.getRank() || axis >= static_cast<uint64_t>(of.getRank()))
    return op->emitOpError("has no axis ") << axis << " in " << of << " and " << at;
  for (int64_t i = 0; i < of.getRank(); ++i)
    if (i != static_cast<int64_t>(axis) && at.getDimSize(i) > of.getDimSize(i))
      return op->emitOpError("indices leave ") << of << " along axis " << i;
  auto expected = RankedTensorType::get(at.getShape(), of.getElementType());
  return found == expected ? success()
                           : LogicalResult(op->emitOpError("picks ") << expected << ", not " << found);
}

LogicalResult GatherElementsOp::verify() {
  return verifyElements(*this, getInput().getType(), getIndices(), getType(), getAxis());
}

LogicalResult ScatterElementsAddOp::verify() {
  return verifyElements(*this, getType(), getIndices(), getUpdates().getType(), getAxis());
}

} // namespace accum::nn
