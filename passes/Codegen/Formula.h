// SPDX-License-Identifier: Apache-2.0
// The arithmetic that the elementwise functions are written in.
#pragma once

#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Codegen/Emitter.h"
#include <cmath>
#include <numbers>

namespace accum::codegen {

namespace arith = mlir::arith;
namespace math = mlir::math;
using mlir::Type, mlir::Value;

/// Arithmetic in the form of one value, spelled as formulas.
struct Formula {
  mlir::ImplicitLocOpBuilder &builder;
  Type type; ///< scalar or vector

  Type scalar() const { return getElementTypeOrSelf(type); }
  bool isFloat() const { return isa<mlir::FloatType>(scalar()); }
  bool isBool() const { return scalar().isInteger(1); }

  Value constant(double value) const {
    mlir::TypedAttr attribute =
        isFloat() ? mlir::TypedAttr(builder.getFloatAttr(scalar(), value))
                  : mlir::TypedAttr(builder.getIntegerAttr(scalar(), static_cast<int64_t>(value)));
    if (auto shaped = dyn_cast<mlir::ShapedType>(type))
      attribute = mlir::DenseElementsAttr::get(shaped, mlir::Attribute(attribute));
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
  // ErrorFunctions.cpp
  Value erfc(Value x) const;
  Value erfcx(Value x) const;
  Value erfcxGrad(Value x) const;
  Value logErfc(Value x) const;
  // ArcFunctions.cpp
  Value arcSine(Value x) const;
  Value arcCosine(Value x) const;
  Value arcTangent(Value x) const;
  Value arcTangent(Value y, Value x) const;

  Value power(Value a, Value b) const;
  Value integerPower(Value a, Value b) const;
  Value activation(nn::ElementwiseFn fn, Value x) const;
  Value errorFunction(nn::ElementwiseFn fn, Value x) const;
  Value unary(nn::ElementwiseFn fn, Value x) const;
  Value comparison(nn::ElementwiseFn fn, Value a, Value b) const;
  Value binary(nn::ElementwiseFn fn, Value a, Value b) const;
};

} // namespace accum::codegen
