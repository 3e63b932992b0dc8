// SPDX-License-Identifier: Apache-2.0
// The complementary error function erfc, the same times exp(x^2), and its logarithm: with all their digits
// where 1 - erf(x) has none.
#include "passes/Codegen/Formula.h"

using namespace mlir;

namespace accum::codegen {
namespace {

/// (1 + 2 x) * exp(x^2) * erfc(x) of x >= 0 as a series of Chebyshev's polynomials in t = (x - c) / (x + c)
/// with c = 3.75, after Shepherd and Laframboise (Mathematics of Computation 36, 1981). What follows is below
/// 3e-18.
constexpr double kCentre = 3.75;
constexpr double kCoefficients[] = {
    1.17757893456740175,       -0.00459005458064647733, -0.0842491333665179156,   0.0592099399981918905,
    -0.0266586684353057523,    0.00907499767070526509,  -0.00241316354041760819,  0.000490775836525808632,
    -0.0000691697330250120637, 4.13902798607301017e-6,  7.74038306619849067e-7,   -2.18864010492343957e-7,
    1.07649994656709104e-8,    4.5219598112182869e-9,   -7.75440020883135111e-10, -6.31808834088668449e-11,
    2.8687950109306699e-11,    1.94558685457773472e-13, -9.65469674843343891e-13, 3.25254814814873984e-14,
    3.34781194828680539e-14,   -1.8645628804193131e-15, -1.25079505306886471e-15, 7.41823525662404346e-17,
    5.06814890479611132e-17};
constexpr size_t kOfF32 = 15; ///< coefficients: value and slope are right to 1e-8

/// Coefficients of the derivative of a series.
SmallVector<double> slopeOf(ArrayRef<double> series) {
  SmallVector<double> slope(series.size() + 1, 0);
  for (size_t k = series.size() - 1; k > 0; --k)
    slope[k - 1] = slope[k + 1] + 2 * static_cast<double>(k) * series[k];
  slope[0] /= 2;
  slope.truncate(series.size() - 1);
  return slope;
}

/// A series of Chebyshev's polynomials in t, by Clenshaw's recurrence.
Value sum(const Formula &f, ArrayRef<double> series, Value t) {
  Value twice = f.add(t, t), next = f.constant(0), one = next;
  for (double coefficient : llvm::reverse(series.drop_front())) {
    Value rest = f.sub(f.constant(coefficient), next);
    next = one;
    one = math::FmaOp::create(f.builder, twice, one, rest);
  }
  return math::FmaOp::create(f.builder, t, one, f.sub(f.constant(series[0]), next));
}

/// exp(x^2) * erfc(x) of x >= 0, and its derivative. Of the derivative 2 x erfcx(x) - 2 / sqrt(pi) nothing is
/// left for large x; that of the quotient cancels nowhere.
struct Scaled {
  const Formula &f;
  ArrayRef<double> series;
  Value share, line; ///< 2 c / (x + c) = 1 - t, and 1 + 2 x

  Scaled(const Formula &f, Value x) : f(f), series(kCoefficients) {
    if (f.scalar().isF32())
      series = series.take_front(kOfF32);
    share = f.over(f.constant(2 * kCentre), f.add(x, kCentre));
    line = f.add(f.add(x, x), 1);
  }
  Value place() const { return f.sub(f.constant(1), share); }
  Value value() const { return f.over(sum(f, series, place()), line); }
  Value slope() const {
    Value inner = f.mul(sum(f, slopeOf(series), place()), f.mul(f.mul(share, share), 1 / (2 * kCentre)));
    return f.over(f.sub(inner, f.mul(value(), 2)), line);
  }
};

/// exp(sign * x^2). The square is taken in two parts: what rounding it loses would be a relative error of its
/// size. From 30 on both are infinite or zero.
Value expOfSquare(const Formula &f, Value x, double sign) {
  Value a = f.smaller(f.absolute(x), f.constant(30)), square = f.mul(a, a);
  Value rest = math::FmaOp::create(f.builder, a, a, f.negate(square));
  Value power = f.apply<math::ExpOp>(f.mul(square, sign));
  return f.mul(power, f.add(f.mul(rest, sign), 1));
}

Value isBelow(const Formula &f, Value x, double limit) {
  return f.compare(arith::CmpFPredicate::OLT, x, f.constant(limit));
}

} // namespace

Value Formula::erfc(Value x) const {
  Value right = mul(expOfSquare(*this, x, -1), Scaled(*this, absolute(x)).value());
  return select(isBelow(*this, x, 0), sub(constant(2), right), right);
}

Value Formula::erfcx(Value x) const {
  Value right = Scaled(*this, absolute(x)).value();
  return select(isBelow(*this, x, 0), sub(mul(expOfSquare(*this, x, 1), 2), right), right);
}

Value Formula::erfcxGrad(Value x) const {
  Value right = Scaled(*this, absolute(x)).slope();
  Value left = add(mul(mul(x, 4), expOfSquare(*this, x, 1)), right);
  return select(isBelow(*this, x, 0), left, right);
}

/// log(erfcx(x)) - x^2, of which nothing cancels where erfcx is far from one, else log1p(-erf(x)).
Value Formula::logErfc(Value x) const {
  Value tail = sub(log(Scaled(*this, absolute(x)).value()), mul(x, x));
  Value near = log1p(negate(apply<math::ErfOp>(x)));
  return select(isBelow(*this, x, 0.5), near, tail);
}

} // namespace accum::codegen
