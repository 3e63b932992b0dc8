// SPDX-License-Identifier: Apache-2.0
// Inverse sine, cosine and tangent, all by the inverse tangent of one number.
#include "passes/Codegen/Formula.h"

using namespace mlir;

namespace accum::codegen {

/// Of f32 as Cephes has it, right to 2e-7 of itself: MLIR's polynomial is off by 1.5e-6 near 0.6. Behind
/// tan(pi / 8) the angle to pi / 4, after tan(3 pi / 8) that to pi / 2.
Value Formula::arcTangent(Value x) const {
  if (!scalar().isF32())
    return apply<math::AtanOp>(x);
  constexpr double kEighth = 0.41421356237309503, kThreeEighths = 2.4142135623730950;
  Value a = absolute(x), one = constant(1);
  Value isPast = compare(arith::CmpFPredicate::OGT, a, constant(kEighth));
  Value isFar = compare(arith::CmpFPredicate::OGT, a, constant(kThreeEighths));
  Value above = select(isFar, constant(-1), select(isPast, sub(a, one), a));
  Value below = select(isFar, a, select(isPast, add(a, one), one));
  Value base = select(isFar, constant(std::numbers::pi / 2),
                      select(isPast, constant(std::numbers::pi / 4), constant(0)));
  Value t = over(above, below), square = mul(t, t), sum = constant(8.05374449538e-2);
  for (double coefficient : {-1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1})
    sum = math::FmaOp::create(builder, sum, square, constant(coefficient));
  Value angle = add(base, math::FmaOp::create(builder, mul(sum, square), t, t));
  return math::CopySignOp::create(builder, angle, x);
}

/// Of x / sqrt(1 - x^2), whose difference is exact near one as a product.
Value Formula::arcSine(Value x) const {
  Value cosine = apply<math::SqrtOp>(mul(sub(constant(1), x), add(x, 1)));
  return arcTangent(over(x, cosine));
}

/// Twice that of half of the angle.
Value Formula::arcCosine(Value x) const {
  Value tangent = apply<math::SqrtOp>(over(sub(constant(1), x), add(x, 1)));
  return mul(arcTangent(tangent), 2);
}

/// The angle of the point (x, y): of the smaller coordinate by the larger, turned into its octant. At the
/// origin zero or pi, by the sign of x.
Value Formula::arcTangent(Value y, Value x) const {
  using enum arith::CmpFPredicate;
  Value a = absolute(y), b = absolute(x), most = larger(a, b), least = smaller(a, b), one = constant(1);
  Value ratio = select(compare(OEQ, most, least), one, over(least, most));
  Value angle = arcTangent(select(compare(OEQ, most, constant(0)), constant(0), ratio));
  angle = select(compare(OGT, a, b), sub(constant(std::numbers::pi / 2), angle), angle);
  Value side = math::CopySignOp::create(builder, one, x);
  angle = select(compare(OLT, side, constant(0)), sub(constant(std::numbers::pi), angle), angle);
  return math::CopySignOp::create(builder, angle, y);
}

} // namespace accum::codegen
