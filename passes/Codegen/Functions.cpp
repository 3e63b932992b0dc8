// SPDX-License-Identifier: Apache-2.0
// The scalar functions of nn.elementwise in arith and math, on scalars or vectors.
#include "passes/Codegen/Formula.h"

using namespace mlir;

namespace accum::codegen {

using nn::ElementwiseFn;

/// The number that all lanes of `value` are, if it is known.
static std::optional<double> constantOf(Value value) {
  if (auto broadcast = value.getDefiningOp();
      broadcast && broadcast->getName().getStringRef() == "vector.broadcast")
    value = broadcast->getOperand(0);
  Attribute attribute;
  if (!matchPattern(value, m_Constant(&attribute)))
    return std::nullopt;
  if (auto splat = dyn_cast<SplatElementsAttr>(attribute))
    attribute = splat.getSplatValue<Attribute>();
  auto number = dyn_cast<FloatAttr>(attribute);
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

/// Squares, cubes and roots are what models hold; they need no pow.
Value Formula::power(Value a, Value b) const {
  std::optional<double> exponent = constantOf(b);
  if (exponent == 0.5)
    return apply<math::SqrtOp>(a);
  if (exponent == -0.5)
    return over(constant(1), apply<math::SqrtOp>(a));
  if (exponent == -1.0)
    return over(constant(1), a);
  if (exponent && *exponent >= 1 && *exponent <= 4 && *exponent == static_cast<int>(*exponent)) {
    Value product = a;
    for (int i = 1; i < *exponent; ++i)
      product = mul(product, a);
    return product;
  }
  return math::PowFOp::create(builder, a, b);
}

/// Square and multiply over six bits: a larger exponent only matters for bases -1, 0 and 1, where its parity
/// is what counts. Negative exponents give 0 except for bases 1 and -1.
Value Formula::integerPower(Value a, Value b) const {
  Value one = constant(1), zero = constant(0);
  Value parity = arith::OrIOp::create(builder, arith::AndIOp::create(builder, b, one), constant(62));
  Value exponent = select(compare(arith::CmpIPredicate::ult, b, constant(64)), b, parity);
  Value result = one, base = a;
  for (int bit = 0; bit < 6; ++bit) {
    Value flag = arith::AndIOp::create(builder, exponent, constant(1 << bit));
    result = select(compare(arith::CmpIPredicate::ne, flag, zero), mul(result, base), result);
    base = mul(base, base);
  }
  Value vanishes = arith::AndIOp::create(builder, compare(arith::CmpIPredicate::slt, b, zero),
                                         compare(arith::CmpIPredicate::ne, mul(a, a), one));
  return select(vanishes, zero, result);
}

Value Formula::activation(ElementwiseFn fn, Value x) const {
  switch (fn) {
  case ElementwiseFn::sigmoid:
    return sigmoid(x);
  case ElementwiseFn::relu:
    return larger(x, constant(0));
  case ElementwiseFn::gelu:
    return mul(x, normalIntegral(x));
  case ElementwiseFn::gelu_tanh:
    return mul(mul(x, 0.5), add(geluTanh(x), 1));
  case ElementwiseFn::silu:
    return mul(x, sigmoid(x));
  case ElementwiseFn::softplus:
    return softplus(x);
  case ElementwiseFn::gelu_grad:
    return add(normalIntegral(x), mul(x, normalDensity(x)));
  case ElementwiseFn::gelu_tanh_grad:
    return geluTanhGrad(x);
  default: // silu_grad: s * (1 + x * (1 - s))
    Value s = sigmoid(x);
    return mul(s, add(mul(x, sub(constant(1), s)), 1));
  }
}

Value Formula::errorFunction(ElementwiseFn fn, Value x) const {
  switch (fn) {
  case ElementwiseFn::erf:
    return apply<math::ErfOp>(x);
  case ElementwiseFn::erfc:
    return erfc(x);
  case ElementwiseFn::erfcx:
    return erfcx(x);
  case ElementwiseFn::erfcx_grad:
    return erfcxGrad(x);
  default: // log_erfc
    return logErfc(x);
  }
}

Value Formula::unary(ElementwiseFn fn, Value x) const {
  switch (fn) {
  case ElementwiseFn::neg:
    return negate(x);
  case ElementwiseFn::abs:
    return absolute(x);
  case ElementwiseFn::sign:
    return sign(x);
  case ElementwiseFn::exp:
    return apply<math::ExpOp>(x);
  case ElementwiseFn::log:
    return log(x);
  case ElementwiseFn::log1p:
    return log1p(x);
  case ElementwiseFn::expm1:
    return expm1(x);
  case ElementwiseFn::sqrt:
    return apply<math::SqrtOp>(x);
  case ElementwiseFn::rsqrt:
    return over(constant(1), apply<math::SqrtOp>(x));
  case ElementwiseFn::reciprocal:
    return over(constant(1), x);
  case ElementwiseFn::tanh:
    return apply<math::TanhOp>(x);
  case ElementwiseFn::erf:
  case ElementwiseFn::erfc:
  case ElementwiseFn::erfcx:
  case ElementwiseFn::erfcx_grad:
  case ElementwiseFn::log_erfc:
    return errorFunction(fn, x);
  case ElementwiseFn::asin:
    return arcSine(x);
  case ElementwiseFn::acos:
    return arcCosine(x);
  case ElementwiseFn::atan:
    return arcTangent(x);
  case ElementwiseFn::sin:
    return apply<math::SinOp>(x);
  case ElementwiseFn::cos:
    return apply<math::CosOp>(x);
  case ElementwiseFn::floor:
    return apply<math::FloorOp>(x);
  case ElementwiseFn::ceil:
    return apply<math::CeilOp>(x);
  case ElementwiseFn::round:
    return apply<math::RoundEvenOp>(x);
  case ElementwiseFn::logical_not:
    return arith::XOrIOp::create(builder, x, constant(1));
  case ElementwiseFn::is_nan:
    return compare(arith::CmpFPredicate::UNO, x, x);
  case ElementwiseFn::is_inf:
    return isInfinite(x);
  default:
    return activation(fn, x);
  }
}

Value Formula::comparison(ElementwiseFn fn, Value a, Value b) const {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  switch (fn) {
  case ElementwiseFn::eq:
    return relation(F::OEQ, I::eq, a, b);
  case ElementwiseFn::ne:
    return relation(F::UNE, I::ne, a, b);
  case ElementwiseFn::lt:
    return relation(F::OLT, I::slt, a, b);
  case ElementwiseFn::le:
    return relation(F::OLE, I::sle, a, b);
  case ElementwiseFn::gt:
    return relation(F::OGT, I::sgt, a, b);
  default: // ge
    return relation(F::OGE, I::sge, a, b);
  }
}

Value Formula::binary(ElementwiseFn fn, Value a, Value b) const {
  switch (fn) {
  case ElementwiseFn::add:
    return add(a, b);
  case ElementwiseFn::sub:
    return sub(a, b);
  case ElementwiseFn::mul:
    return mul(a, b);
  case ElementwiseFn::div:
    return divide(a, b);
  case ElementwiseFn::pow:
    return isFloat() ? power(a, b) : integerPower(a, b);
  case ElementwiseFn::min:
    return smaller(a, b);
  case ElementwiseFn::max:
    return larger(a, b);
  case ElementwiseFn::mod:
    return modulo(a, b);
  case ElementwiseFn::rem:
    return remainder(a, b);
  case ElementwiseFn::atan2:
    return arcTangent(a, b);
  case ElementwiseFn::binary_cross_entropy:
    return binaryCrossEntropy(a, b);
  case ElementwiseFn::sigmoid_cross_entropy:
    return sigmoidCrossEntropy(a, b);
  case ElementwiseFn::logical_and:
    return arith::AndIOp::create(builder, a, b);
  case ElementwiseFn::logical_or:
    return arith::OrIOp::create(builder, a, b);
  case ElementwiseFn::logical_xor:
    return arith::XOrIOp::create(builder, a, b);
  default:
    return comparison(fn, a, b);
  }
}

Value applyFunction(ImplicitLocOpBuilder &builder, ElementwiseFn fn, ArrayRef<Value> operands) {
  Formula formula{builder, operands[0].getType()};
  return operands.size() == 1 ? formula.unary(fn, operands[0]) : formula.binary(fn, operands[0], operands[1]);
}

} // namespace accum::codegen
