// SPDX-License-Identifier: Apache-2.0
// Elements of elementwise ops and casts.
#include "passes/Codegen/Emitter.h"

using namespace mlir;

namespace accum::codegen {

Element Emitter::elementwise(nn::ElementwiseOp op, ArrayRef<Index> at, Mask mask) {
  SmallVector<Element> operands;
  for (Value operand : op.getOperands())
    operands.push_back(broadcastElement(operand, at, mask));
  if (op.getFn() == nn::ElementwiseFn::select)
    return select(operands[0], operands[1], operands[2]);
  Scope *scope = unify(operands);
  SmallVector<Value> values;
  for (const Element &operand : operands)
    values.push_back(operand.value);
  return {applyFunction(in(scope), op.getFn(), values), scope};
}

static Value toBool(ImplicitLocOpBuilder &builder, Value value) {
  Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(value.getType()));
  if (isa<FloatType>(getElementTypeOrSelf(value)))
    return arith::CmpFOp::create(builder, arith::CmpFPredicate::UNE, value, zero);
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, value, zero);
}

/// `type` has value's form.
static Value toFloat(ImplicitLocOpBuilder &builder, Value value, bool isUnsigned, Type type) {
  Type from = getElementTypeOrSelf(value), to = getElementTypeOrSelf(type);
  if (isa<FloatType>(from)) {
    if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
      return arith::ExtFOp::create(builder, type, value);
    return arith::TruncFOp::create(builder, type, value);
  }
  if (isUnsigned)
    return arith::UIToFPOp::create(builder, type, value);
  return arith::SIToFPOp::create(builder, type, value);
}

static Value toInteger(ImplicitLocOpBuilder &builder, Value value, bool isUnsigned, Type type) {
  Type from = getElementTypeOrSelf(value), to = getElementTypeOrSelf(type);
  if (isa<FloatType>(from))
    return arith::FPToSIOp::create(builder, type, value);
  if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(builder, type, value);
  if (isUnsigned)
    return arith::ExtUIOp::create(builder, type, value);
  return arith::ExtSIOp::create(builder, type, value);
}

Element Emitter::convert(Element element, Type from, Type to) {
  Type scalar = computeType(to);
  if (getElementTypeOrSelf(element.value) == scalar)
    return element;
  ImplicitLocOpBuilder &builder = in(element.scope);
  bool isUnsigned = from.isInteger(1) || from.isUnsignedInteger();
  Type type = isa<VectorType>(element.value.getType()) ? Type(vectorOf(scalar)) : scalar;
  if (scalar.isInteger(1))
    return {toBool(builder, element.value), element.scope};
  if (isa<FloatType>(scalar))
    return {toFloat(builder, element.value, isUnsigned, type), element.scope};
  return {toInteger(builder, element.value, isUnsigned, type), element.scope};
}

/// A cast to a 16-bit float rounds, although what follows is computed in f32.
Element Emitter::cast(nn::CastOp op, ArrayRef<Index> at, Mask mask) {
  Type from = op.getInput().getType().getElementType(), to = op.getType().getElementType();
  Element value = convert(element(op.getInput(), at, mask), from, to);
  if (computeType(to) == to || !isa<FloatType>(to) || from == to)
    return value;
  bool vector = isa<VectorType>(value.value.getType());
  Value rounded = arith::TruncFOp::create(in(value.scope), vector ? Type(vectorOf(to)) : to, value.value);
  return {arith::ExtFOp::create(builder, value.value.getType(), rounded), value.scope};
}

} // namespace accum::codegen
