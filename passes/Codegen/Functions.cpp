// SPDX-License-Identifier: Apache-2.0
// The scalar functions of nn.elementwise in arith and math, on scalars or vectors.
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Codegen/Emitter.h"
#include <cmath>
#include <numbers>

using namespace mlir;

namespace accum::codegen {
namespace {

using nn::ElementwiseFn;

/// Arithmetic in the form of one value, spelled as formulas.
struct Formula {
  ImplicitLocOpBuilder &builder;
  Type type; ///< scalar or vector

  Type scalar() const { return getElementTypeOrSelf(type); }
  bool isFloat() const { return isa<FloatType>(scalar()); }
  bool isBool() const { return scalar().isInteger(1); }

  Value constant(double value) const {
    TypedAttr attribute = isFloat()
                              ? TypedAttr(builder.getFloatAttr(scalar(), value))
                              : TypedAttr(builder.getIntegerAttr(scalar(), static_cast<int64_t>(value)));
    if (auto shaped = dyn_cast<ShapedType>(type))
      attribute = DenseElementsAttr::get(shaped, Attribute(attribute));
    return arith::ConstantOp::create(builder, attribute);
  }
  Value add(Value a, Value b) const {
    return isFloat() ? arith::AddFOp::create(builder, a, b).getResult()
                     : arith::AddIOp::create(builder, a, b);
  }
  Value sub(Value a, Value b) const {
    return isFloat() ? arith::SubFOp::create(builder, a, b).getResult()
                     : arith::SubIOp::create(builder, a, b);
  }
  Value mul(Value a, Value b) const {
    return isFloat() ? arith::MulFOp::create(builder, a, b).getResult()
                     : arith::MulIOp::create(builder, a, b);
  }
  Value mul(Value a, double b) const { return mul(a, constant(b)); }
  Value add(Value a, double b) const { return add(a, constant(b)); }
  Value over(Value a, Value b) const { return arith::DivFOp::create(builder, a, b); }
  Value select(Value condition, Value yes, Value no) const {
    return arith::SelectOp::create(builder, condition, yes, no);
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) const {
    return arith::CmpFOp::create(builder, predicate, a, b);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) const {
    return arith::CmpIOp::create(builder, predicate, a, b);
  }
  template <typename Op> Value apply(Value x) const { return Op::create(builder, x); }
  /// The one that compares so, and NaN where there is one. arith.maximumf also orders zeros, for five
  /// instructions where this takes three.
  Value extreme(arith::CmpFPredicate wins, Value a, Value b) const {
    Value isNaN = compare(arith::CmpFPredicate::UNO, a, a);
    return select(isNaN, a, select(compare(wins, a, b), a, b));
  }
  Value larger(Value a, Value b) const {
    if (isFloat())
      return extreme(arith::CmpFPredicate::OGT, a, b);
    return isBool() ? arith::OrIOp::create(builder, a, b).getResult() : arith::MaxSIOp::create(builder, a, b);
  }
  Value smaller(Value a, Value b) const {
    if (isFloat())
      return extreme(arith::CmpFPredicate::OLT, a, b);
    return isBool() ? arith::AndIOp::create(builder, a, b).getResult()
                    : arith::MinSIOp::create(builder, a, b);
  }

  Value sigmoid(Value x) const {
    Value e = apply<math::ExpOp>(apply<arith::NegFOp>(x));
    return over(constant(1), add(e, 1));
  }
  /// The standard normal distribution's integral: 0.5 * (1 + erf(x / sqrt(2))). What is added to one may be
  /// off by its last digits.
  Value normalIntegral(Value x) const {
    Value erf = math::ErfOp::create(builder, mul(x, 1 / std::numbers::sqrt2), arith::FastMathFlags::afn);
    return mul(add(erf, 1), 0.5);
  }
  Value normalDensity(Value x) const {
    return mul(apply<math::ExpOp>(mul(mul(x, x), -0.5)), std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  }
  static constexpr double kCubic = 0.044715;
  static constexpr double kScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  /// tanh(sqrt(2 / pi) * (x + 0.044715 x^3)), which is added to one: its absolute error counts.
  Value geluTanh(Value x) const {
    Value inner = mul(x, add(mul(mul(x, x), kCubic), 1));
    return math::TanhOp::create(builder, mul(inner, kScale), arith::FastMathFlags::afn);
  }
  Value geluTanhGrad(Value x) const {
    Value t = geluTanh(x);
    Value slope = mul(add(mul(mul(x, x), 3 * kCubic), 1), kScale);
    Value curve = mul(mul(sub(constant(1), mul(t, t)), x), slope);
    return mul(add(add(t, 1), curve), 0.5);
  }
  /// The polynomial of f32 takes what is below 2^-126 for that.
  Value log(Value x) const {
    if (!scalar().isF32())
      return apply<math::LogOp>(x);
    constexpr int kShift = 24;
    Value isSmall = compare(arith::CmpFPredicate::OLT, x, constant(std::numeric_limits<float>::min()));
    Value y = apply<math::LogOp>(select(isSmall, mul(x, std::ldexp(1.0, kShift)), x));
    return select(isSmall, add(y, -kShift * std::numbers::ln2), y);
  }
  Value isFinite(Value x) const {
    return compare(arith::CmpFPredicate::ONE, apply<math::AbsFOp>(x),
                   constant(std::numeric_limits<double>::infinity()));
  }
  /// log(u) * x / (u - 1) with u = 1 + x as it is rounded (Kahan). math.log1p becomes log(1 + x) where no
  /// polynomial is put in its place.
  Value log1p(Value x) const {
    Value u = add(x, 1), rest = add(u, -1), logarithm = apply<math::LogOp>(u);
    Value scaled = mul(logarithm, over(x, rest));
    Value isLost = compare(arith::CmpFPredicate::OEQ, rest, constant(0));
    return select(isLost, x, select(isFinite(u), scaled, logarithm));
  }
  /// (u - 1) * x / log(u) with u = exp(x) as it is rounded (Kahan).
  Value expm1(Value x) const {
    Value u = apply<math::ExpOp>(x), rest = add(u, -1);
    Value scaled = mul(rest, over(x, apply<math::LogOp>(u)));
    Value isLost = compare(arith::CmpFPredicate::OEQ, rest, constant(0));
    Value isWhole = compare(arith::CmpFPredicate::OEQ, rest, constant(-1));
    Value result = select(isWhole, rest, select(isFinite(u), scaled, u));
    return select(isLost, x, result);
  }
  /// max(x, 0) + log1p(exp(-|x|)): finite for every finite x.
  Value softplus(Value x) const {
    Value decay = apply<math::ExpOp>(apply<arith::NegFOp>(apply<math::AbsFOp>(x)));
    return add(larger(x, constant(0)), log1p(decay));
  }
  /// Of the logarithms of a probability and of its complement, neither of which counts below -100.
  Value crossEntropy(Value logarithm, Value complement, Value target) const {
    Value lowest = constant(-100);
    Value missed = mul(sub(target, constant(1)), larger(complement, lowest));
    return sub(missed, mul(target, larger(logarithm, lowest)));
  }
  Value binaryCrossEntropy(Value p, Value target) const {
    return crossEntropy(log(p), log1p(apply<arith::NegFOp>(p)), target);
  }
  /// From 53 log(2) on the sigmoid of a double is one, and its complement's logarithm -inf.
  Value sigmoidCrossEntropy(Value x, Value target) const {
    Value isOne = compare(arith::CmpFPredicate::OGE, x, constant(53 * std::numbers::ln2));
    Value logarithm = apply<arith::NegFOp>(softplus(apply<arith::NegFOp>(x)));
    Value complement = select(isOne, constant(-100), apply<arith::NegFOp>(softplus(x)));
    return crossEntropy(logarithm, complement, target);
  }
  Value sign(Value x) const {
    Value zero = constant(0), positive, negative;
    if (isFloat()) {
      positive = compare(arith::CmpFPredicate::OGT, x, zero);
      negative = compare(arith::CmpFPredicate::OLT, x, zero);
    } else {
      positive = compare(arith::CmpIPredicate::sgt, x, zero);
      negative = compare(arith::CmpIPredicate::slt, x, zero);
    }
    return select(positive, constant(1), select(negative, constant(-1), zero));
  }
  Value negate(Value x) const { return isFloat() ? apply<arith::NegFOp>(x) : sub(constant(0), x); }
  Value absolute(Value x) const { return isFloat() ? apply<math::AbsFOp>(x) : larger(x, negate(x)); }
  Value isInfinite(Value x) const {
    return compare(arith::CmpFPredicate::OEQ, apply<math::AbsFOp>(x),
                   constant(std::numeric_limits<double>::infinity()));
  }

  /// Lanes that do not exist hold zeros, which integer division must not see.
  Value safeDivisor(Value a, Value b) const {
    Value zero = compare(arith::CmpIPredicate::eq, b, constant(0));
    Value overflow = arith::AndIOp::create(builder, compare(arith::CmpIPredicate::eq, b, constant(-1)),
                                           compare(arith::CmpIPredicate::eq, a, negate(a)));
    return select(arith::OrIOp::create(builder, zero, overflow), constant(1), b);
  }
  Value divide(Value a, Value b) const {
    return isFloat() ? over(a, b) : arith::DivSIOp::create(builder, a, safeDivisor(a, b)).getResult();
  }
  Value remainder(Value a, Value b) const {
    return isFloat() ? arith::RemFOp::create(builder, a, b).getResult()
                     : arith::RemSIOp::create(builder, a, safeDivisor(a, b)).getResult();
  }
  /// The remainder with the divisor's sign.
  Value modulo(Value a, Value b) const {
    Value rest = remainder(a, b), zero = constant(0), off, signs;
    if (isFloat()) {
      off = compare(arith::CmpFPredicate::ONE, rest, zero);
      signs = arith::XOrIOp::create(builder, compare(arith::CmpFPredicate::OLT, rest, zero),
                                    compare(arith::CmpFPredicate::OLT, b, zero));
    } else {
      off = compare(arith::CmpIPredicate::ne, rest, zero);
      signs = compare(arith::CmpIPredicate::slt, arith::XOrIOp::create(builder, rest, b), zero);
    }
    return select(arith::AndIOp::create(builder, off, signs), add(rest, b), rest);
  }
  Value relation(arith::CmpFPredicate floats, arith::CmpIPredicate integers, Value a, Value b) const {
    return isFloat() ? compare(floats, a, b) : compare(integers, a, b);
  }
  Value power(Value a, Value b) const;
  Value integerPower(Value a, Value b) const;
  Value activation(ElementwiseFn fn, Value x) const;
  Value unary(ElementwiseFn fn, Value x) const;
  Value comparison(ElementwiseFn fn, Value a, Value b) const;
  Value binary(ElementwiseFn fn, Value a, Value b) const;
};

/// The number that all lanes of `value` are, if it is known.
std::optional<double> constantOf(Value value) {
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
    return apply<math::ErfOp>(x);
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

} // namespace

Value applyFunction(ImplicitLocOpBuilder &builder, ElementwiseFn fn, ArrayRef<Value> operands) {
  Formula formula{builder, operands[0].getType()};
  return operands.size() == 1 ? formula.unary(fn, operands[0]) : formula.binary(fn, operands[0], operands[1]);
}

} // namespace accum::codegen
