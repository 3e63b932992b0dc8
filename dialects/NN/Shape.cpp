// SPDX-License-Identifier: Apache-2.0
// Data movement: shapes, verification, folding.
#include "dialects/NN/NNDialect.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/NN/NNShape.cpp.inc"

namespace accum::nn {

void detail::addShapeOps(Dialect *dialect) {
  RegisteredOperationName::insert<ReshapeOp>(*dialect);
  RegisteredOperationName::insert<TransposeOp>(*dialect);
  RegisteredOperationName::insert<BroadcastOp>(*dialect);
  RegisteredOperationName::insert<SliceOp>(*dialect);
  RegisteredOperationName::insert<PadOp>(*dialect);
  RegisteredOperationName::insert<ConcatOp>(*dialect);
}

/// Whether the value holds one slab for each sample.
static bool holdsBatch(RankedTensorType type) {
  return isa_and_nonnull<ExtentAttr, BatchedAttr>(type.getEncoding());
}

/// A batch that only one side has is no error here: check says that, in the user's words.
LogicalResult ReshapeOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType()), result = cast<RankedTensorType>(getType());
  if (input.getElementType() != result.getElementType())
    return emitOpError("changes the element type");
  if (holdsBatch(input) == holdsBatch(result) && input.getNumElements() != result.getNumElements())
    return emitOpError("turns ") << input.getNumElements() << " elements into " << result.getNumElements();
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? getInput() : OpFoldResult();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  for (auto [i, axis] : llvm::enumerate(getPerm()))
    if (axis != static_cast<int64_t>(i))
      return {};
  return getInput().getType() == getType() ? getInput() : OpFoldResult();
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getOperands()[0].getType());
  ArrayRef<int64_t> perm = adaptor.getPerm();
  SmallVector<int64_t> shape;
  for (int64_t axis : perm) {
    if (axis < 0 || axis >= input.getRank())
      return emitOptionalError(location, "perm is not a permutation of the input's axes");
    shape.push_back(input.getDimSize(axis));
  }
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

bool TransposeOp::isCompatibleReturnTypes(TypeRange l, TypeRange r) { return sameSlabs(l, r); }

LogicalResult TransposeOp::verify() {
  SmallVector<int64_t> sorted(getPerm());
  llvm::sort(sorted);
  for (auto [i, axis] : llvm::enumerate(sorted))
    if (axis != static_cast<int64_t>(i))
      return emitOpError("perm is not a permutation");
  return success(static_cast<int64_t>(sorted.size()) == cast<RankedTensorType>(getType()).getRank());
}

LogicalResult BroadcastOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType()), result = cast<RankedTensorType>(getType());
  if (input.getElementType() != result.getElementType())
    return emitOpError("changes the element type");
  int64_t shift = result.getRank() - input.getRank();
  if (shift < 0)
    return emitOpError("drops axes");
  for (auto [i, extent] : llvm::enumerate(input.getShape()))
    if (extent != 1 && extent != result.getDimSize(i + shift))
      return emitOpError("expands axis ") << i << " of extent " << extent;
  return success();
}

LogicalResult PadOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType()), result = cast<RankedTensorType>(getType());
  auto value = cast<RankedTensorType>(getValue().getType());
  if (input.getElementType() != result.getElementType() || value.getRank() != 0 ||
      value.getElementType() != input.getElementType())
    return emitOpError("pads with something that is no scalar of the input's element type");
  if (getLow().size() != static_cast<size_t>(input.getRank()) || result.getRank() != input.getRank())
    return emitOpError("low and shapes differ in rank");
  for (auto [i, low] : llvm::enumerate(getLow()))
    if (low < 0 || low + input.getDimSize(i) > result.getDimSize(i))
      return emitOpError("does not fit into axis ") << i;
  return success();
}

LogicalResult SliceOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType()), result = cast<RankedTensorType>(getType());
  if (input.getElementType() != result.getElementType())
    return emitOpError("changes the element type");
  if (getStarts().size() != static_cast<size_t>(input.getRank()) ||
      getStrides().size() != getStarts().size() || result.getRank() != input.getRank())
    return emitOpError("starts, strides and shapes differ in rank");
  for (int64_t i = 0; i < input.getRank(); ++i) {
    int64_t last = getStarts()[i] + (result.getDimSize(i) - 1) * getStrides()[i];
    if (result.getDimSize(i) > 0 &&
        (getStarts()[i] < 0 || last < 0 || std::max(getStarts()[i], last) >= input.getDimSize(i)))
      return emitOpError("reads outside axis ") << i;
  }
  return success();
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  if (adaptor.getOperands().empty())
    return emitOptionalError(location, "nothing to concatenate");
  int64_t axis = adaptor.getAxis();
  auto first = cast<RankedTensorType>(adaptor.getOperands()[0].getType());
  if (axis < 0 || axis >= first.getRank())
    return emitOptionalError(location, "axis ", axis, " is not an axis of the operands");
  SmallVector<int64_t> shape(first.getShape());
  for (Value value : adaptor.getOperands().drop_front()) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getRank() != first.getRank())
      return emitOptionalError(location, "operands differ in rank");
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (i != axis && type.getDimSize(i) != first.getDimSize(i))
        return emitOptionalError(location, "operands differ along axis ", i);
    if (type.getElementType() != first.getElementType())
      return emitOptionalError(location, "operands have different element types");
    shape[axis] += type.getDimSize(axis);
  }
  types.push_back(RankedTensorType::get(shape, first.getElementType()));
  return success();
}

bool ConcatOp::isCompatibleReturnTypes(TypeRange l, TypeRange r) { return sameSlabs(l, r); }

} // namespace accum::nn
