// SPDX-License-Identifier: Apache-2.0
// Constants and elementwise ops: shapes, verification, folding.
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/OperandKinds.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/NN/NNElementwise.cpp.inc"

namespace accum::nn {

void detail::addElementwiseOps(Dialect *dialect) {
  RegisteredOperationName::insert<ConstantOp>(*dialect);
  RegisteredOperationName::insert<IotaOp>(*dialect);
  RegisteredOperationName::insert<ElementwiseOp>(*dialect);
  RegisteredOperationName::insert<CastOp>(*dialect);
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult ConstantOp::verify() {
  if (slabOf(getValue().getShapedType()) != slabOf(getType()))
    return emitOpError("value has type ") << getValue().getShapedType() << ", expected " << slabOf(getType());
  return success();
}

LogicalResult IotaOp::verify() {
  auto type = slabOf(getType());
  return getDim() < static_cast<uint64_t>(type.getRank())
             ? success()
             : LogicalResult(emitOpError("has no axis ") << getDim() << " in " << type);
}

/// Number of operands that a function takes: the enum is numbered by arity.
static unsigned arityOf(ElementwiseFn fn) { return static_cast<unsigned>(fn) / 100 + 1; }

static bool givesBool(ElementwiseFn fn) {
  switch (fn) {
  case ElementwiseFn::logical_not:
  case ElementwiseFn::is_nan:
  case ElementwiseFn::is_inf:
  case ElementwiseFn::logical_and:
  case ElementwiseFn::logical_or:
  case ElementwiseFn::logical_xor:
  case ElementwiseFn::eq:
  case ElementwiseFn::ne:
  case ElementwiseFn::lt:
  case ElementwiseFn::le:
  case ElementwiseFn::gt:
  case ElementwiseFn::ge:
    return true;
  default:
    return false;
  }
}

LogicalResult ElementwiseOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                              Adaptor adaptor, SmallVectorImpl<Type> &types) {
  ElementwiseFn fn = adaptor.getFn();
  if (adaptor.getOperands().size() != arityOf(fn))
    return emitOptionalError(location, "expected ", arityOf(fn), " operands, got ",
                             adaptor.getOperands().size());
  auto shape = broadcastShapes(adaptor.getOperands().getTypes());
  if (failed(shape))
    return emitOptionalError(location, "operands do not broadcast");
  Type element = givesBool(fn)
                     ? IntegerType::get(context, 1)
                     : cast<RankedTensorType>(adaptor.getOperands().back().getType()).getElementType();
  types.push_back(RankedTensorType::get(*shape, element));
  return success();
}

bool ElementwiseOp::isCompatibleReturnTypes(TypeRange l, TypeRange r) { return sameSlabs(l, r); }

bool needsFloats(ElementwiseFn fn) {
  switch (fn) {
  case ElementwiseFn::exp:
  case ElementwiseFn::log:
  case ElementwiseFn::sqrt:
  case ElementwiseFn::rsqrt:
  case ElementwiseFn::reciprocal:
  case ElementwiseFn::tanh:
  case ElementwiseFn::erf:
  case ElementwiseFn::sigmoid:
  case ElementwiseFn::gelu:
  case ElementwiseFn::gelu_tanh:
  case ElementwiseFn::silu:
  case ElementwiseFn::sin:
  case ElementwiseFn::cos:
  case ElementwiseFn::softplus:
  case ElementwiseFn::floor:
  case ElementwiseFn::ceil:
  case ElementwiseFn::round:
  case ElementwiseFn::is_nan:
  case ElementwiseFn::is_inf:
  case ElementwiseFn::gelu_grad:
  case ElementwiseFn::gelu_tanh_grad:
  case ElementwiseFn::silu_grad:
  case ElementwiseFn::log1p:
  case ElementwiseFn::expm1:
  case ElementwiseFn::erfc:
  case ElementwiseFn::erfcx:
  case ElementwiseFn::erfcx_grad:
  case ElementwiseFn::log_erfc:
  case ElementwiseFn::asin:
  case ElementwiseFn::acos:
  case ElementwiseFn::atan:
  case ElementwiseFn::atan2:
  case ElementwiseFn::binary_cross_entropy:
  case ElementwiseFn::sigmoid_cross_entropy:
    return true;
  default:
    return false;
  }
}

bool needsBools(ElementwiseFn fn) {
  return fn == ElementwiseFn::logical_not || fn == ElementwiseFn::logical_and ||
         fn == ElementwiseFn::logical_or || fn == ElementwiseFn::logical_xor;
}

LogicalResult ElementwiseOp::verify() {
  OperandRange values = getOperands();
  if (getFn() == ElementwiseFn::select) {
    if (!cast<RankedTensorType>(values[0].getType()).getElementType().isInteger(1))
      return emitOpError("condition of select is not i1");
    values = values.drop_front();
  }
  Type element = cast<RankedTensorType>(values[0].getType()).getElementType();
  for (Value value : values)
    if (cast<RankedTensorType>(value.getType()).getElementType() != element)
      return emitOpError("operands have different element types");
  if (needsFloats(getFn()) && !isa<FloatType>(element))
    return emitOpError("takes ") << stringifyElementwiseFn(getFn()) << " of " << element
                                 << ", expected floats";
  if (needsBools(getFn()) && !element.isInteger(1))
    return emitOpError("takes ") << stringifyElementwiseFn(getFn()) << " of " << element << ", expected i1";
  return success();
}

void CastOp::build(OpBuilder &builder, OperationState &state, Value input, Type elementType) {
  auto type = cast<RankedTensorType>(input.getType());
  build(builder, state, RankedTensorType::get(type.getShape(), elementType, type.getEncoding()), input);
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? getInput() : OpFoldResult();
}

LogicalResult CastOp::verify() {
  if (cast<RankedTensorType>(getInput().getType()).getShape() != cast<RankedTensorType>(getType()).getShape())
    return emitOpError("changes the shape");
  return success();
}

} // namespace accum::nn
