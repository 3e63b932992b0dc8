// SPDX-License-Identifier: Apache-2.0
// Attention: shapes.
#include "dialects/NN/NNDialect.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/NN/NNAttention.cpp.inc"

namespace accum::nn {

void detail::addAttentionOps(Dialect *dialect) {
  RegisteredOperationName::insert<AttentionOp>(*dialect);
  RegisteredOperationName::insert<AttentionBwdOp>(*dialect);
}

/// q, k and v fit each other; `fail` gets what is wrong.
static LogicalResult checkShapes(ArrayRef<RankedTensorType> qkv,
                                 function_ref<LogicalResult(StringRef)> fail) {
  for (RankedTensorType type : qkv)
    if (type.getRank() != 4 || !isa<FloatType>(type.getElementType()) ||
        type.getElementType() != qkv[0].getElementType())
      return fail("needs queries, keys and values of rank 4 and one float type");
  ArrayRef<int64_t> q = qkv[0].getShape(), k = qkv[1].getShape(), v = qkv[2].getShape();
  if (q[0] != k[0] || k.take_front(3) != v.take_front(3) || q[3] != k[3])
    return fail("has queries, keys and values of shapes that do not fit");
  if (k[1] < 1 || q[1] % k[1] != 0)
    return fail("has query heads that are no multiple of its key heads");
  return success();
}

/// Both ops have q, k, v first.
static SmallVector<RankedTensorType> slabsOf(ValueRange operands) {
  return llvm::map_to_vector(operands.take_front(3), [](Value value) { return slabOf(value.getType()); });
}

static RankedTensorType outputOf(ArrayRef<RankedTensorType> qkv) {
  SmallVector<int64_t> shape(qkv[0].getShape());
  shape.back() = qkv[2].getShape().back();
  return RankedTensorType::get(shape, qkv[0].getElementType());
}

static RankedTensorType statisticsOf(RankedTensorType query) {
  Type element = query.getElementType();
  return RankedTensorType::get(query.getShape().drop_back(),
                               element.isF64() ? element : Float32Type::get(query.getContext()));
}

static LogicalResult verifyMask(Operation *op, Value mask, ArrayRef<RankedTensorType> qkv) {
  if (!mask)
    return success();
  auto type = cast<RankedTensorType>(mask.getType());
  if (type.getElementType() != statisticsOf(qkv[0]).getElementType() && !type.getElementType().isInteger(1))
    return op->emitOpError("needs a mask of i1 or of the scores' type");
  int64_t scores[] = {qkv[0].getDimSize(0), qkv[0].getDimSize(1), qkv[0].getDimSize(2), qkv[1].getDimSize(2)};
  bool fits = type.getRank() == 4;
  for (int64_t axis = 0; fits && axis < 4; ++axis)
    fits = type.getDimSize(axis) == 1 || type.getDimSize(axis) == scores[axis];
  return fits ? success() : LogicalResult(op->emitOpError("has a mask that does not fit its scores"));
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto qkv = slabsOf(adaptor.getOperands());
  auto fail = [&](StringRef what) { return emitOptionalError(location, what); };
  if (failed(checkShapes(qkv, fail)))
    return failure();
  types.append({outputOf(qkv), statisticsOf(qkv[0])});
  return success();
}

bool AttentionOp::isCompatibleReturnTypes(TypeRange l, TypeRange r) { return sameSlabs(l, r); }

LogicalResult AttentionOp::verify() { return verifyMask(*this, getMask(), slabsOf(getOperands())); }

LogicalResult AttentionBwdOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                               Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto qkv = slabsOf(adaptor.getOperands());
  auto fail = [&](StringRef what) { return emitOptionalError(location, what); };
  if (failed(checkShapes(qkv, fail)))
    return failure();
  types.append(qkv.begin(), qkv.end());
  return success();
}

bool AttentionBwdOp::isCompatibleReturnTypes(TypeRange l, TypeRange r) { return sameSlabs(l, r); }

LogicalResult AttentionBwdOp::verify() {
  auto qkv = slabsOf(getOperands());
  if (slabOf(getOutput().getType()) != outputOf(qkv) || slabOf(getDoutput().getType()) != outputOf(qkv) ||
      slabOf(getLse().getType()) != statisticsOf(qkv[0]))
    return emitOpError("has an output, its cotangent or statistics of another shape than attention gives");
  return verifyMask(*this, getMask(), qkv);
}

} // namespace accum::nn
