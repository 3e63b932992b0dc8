// SPDX-License-Identifier: Apache-2.0
// Functions as arithmetic: polynomials for f32, and what no processor has for bf16.
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Codegen/CardMath.h"
#include "passes/Codegen/Passes.h"
#include <numbers>

namespace accum {
#define GEN_PASS_DEF_LOWERMATH
#include "passes/Codegen/Passes.h.inc"
} // namespace accum

using namespace mlir;

namespace accum {
namespace {

/// Sine and cosine of f32 in f64: the reduction by multiples of pi/2 then costs nothing for any angle that
/// positions and frequencies give, where one in f32 is off by 1e-5 at 400.
struct Turn {
  ImplicitLocOpBuilder &builder;
  Type type; ///< f64, in the angle's form

  Value constant(double value) const {
    TypedAttr attribute = builder.getF64FloatAttr(value);
    if (auto shaped = dyn_cast<ShapedType>(type))
      attribute = DenseElementsAttr::get(shaped, Attribute(attribute));
    return arith::ConstantOp::create(builder, attribute);
  }
  Value mul(Value a, Value b) const { return arith::MulFOp::create(builder, a, b); }
  Value fma(Value a, Value b, Value c) const { return math::FmaOp::create(builder, a, b, c); }

  /// first + first * (sum of the Taylor terms), from x^n/n! to the last that matters below pi/4.
  Value series(Value square, Value first, int start) const {
    double coefficient = 1;
    SmallVector<double> terms;
    for (int n = start; n < start + 12; n += 2) {
      coefficient /= -static_cast<double>((n + 1) * (n + 2));
      terms.push_back(coefficient);
    }
    Value sum = constant(terms.back());
    for (double term : llvm::reverse(ArrayRef(terms).drop_back()))
      sum = fma(sum, square, constant(term));
    return fma(mul(sum, square), first, first);
  }

  /// The sine of angle + quarters * pi/2.
  Value sine(Value angle, double quarters) const {
    Value turns = math::RoundEvenOp::create(builder, mul(angle, constant(2 / std::numbers::pi)));
    Value rest = fma(turns, constant(-std::numbers::pi / 2), angle);
    rest = fma(turns, constant(-6.123233995736766e-17), rest); // pi/2 beyond a double
    Value square = mul(rest, rest);
    Value sines = series(square, rest, 1), cosines = series(square, constant(1), 0);
    Value count = arith::AddFOp::create(builder, turns, constant(quarters));
    Value whole = math::FloorOp::create(builder, mul(count, constant(0.25)));
    Value quarter = fma(whole, constant(-4), count); // 0, 1, 2 or 3
    auto is = [&](double which) -> Value {
      return arith::CmpFOp::create(builder, arith::CmpFPredicate::OEQ, quarter, constant(which));
    };
    Value odd = arith::OrIOp::create(builder, is(1), is(3));
    Value value = arith::SelectOp::create(builder, odd, cosines, sines);
    Value below = arith::OrIOp::create(builder, is(2), is(3));
    return arith::SelectOp::create(builder, below, arith::NegFOp::create(builder, value), value);
  }
};

/// e^x of f32: 2^n * e^r with |r| <= ln(2) / 2 and Cephes' polynomial, below 1.5 ulp. What would be denormal
/// is zero: masked attention weights must cost the products that read them nothing.
struct ExpPattern : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op).isF32())
      return rewriter.notifyMatchFailure(op, "only f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type type = op.getType(), bits = b.getI32Type();
    if (auto shaped = dyn_cast<ShapedType>(type))
      bits = shaped.clone(bits);
    auto constant = [&](Attribute number, Type of) -> Value {
      if (auto shaped = dyn_cast<ShapedType>(of))
        return arith::ConstantOp::create(b, DenseElementsAttr::get(shaped, number));
      return arith::ConstantOp::create(b, cast<TypedAttr>(number));
    };
    auto real = [&](double x) { return constant(b.getF32FloatAttr(static_cast<float>(x)), type); };
    auto fma = [&](Value x, Value y, Value z) -> Value { return math::FmaOp::create(b, x, y, z); };
    auto below = [&](Value x, Value y) -> Value {
      return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y);
    };
    // Adding 1.5 * 2^23 rounds to an integer, and leaves it in the low bits.
    constexpr double kRound = 12582912;
    Value x = op.getOperand(), shifted = fma(x, real(std::numbers::log2e), real(kRound));
    Value most = real(kRound + 127);
    shifted = arith::SelectOp::create(b, below(shifted, most), shifted, most);
    Value n = arith::SubFOp::create(b, shifted, real(kRound));
    Value r = fma(n, real(2.12194440e-4), fma(n, real(-0.693359375), x));
    Value p = real(1.9875691500e-4);
    for (double c : {1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1})
      p = fma(p, r, real(c));
    p = fma(p, arith::MulFOp::create(b, r, r), arith::AddFOp::create(b, r, real(1)));
    Value exponent = arith::ShLIOp::create(b, arith::BitcastOp::create(b, bits, shifted),
                                           constant(b.getI32IntegerAttr(23), bits));
    exponent = arith::AddIOp::create(b, exponent, constant(b.getI32IntegerAttr(127 << 23), bits));
    Value y = arith::MulFOp::create(b, p, arith::BitcastOp::create(b, type, exponent));
    double infinity = std::numeric_limits<double>::infinity();
    y = arith::SelectOp::create(b, below(x, real(-87.3365)), real(0), y);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, below(real(88.7228317), x), real(infinity), y);
    return success();
  }
};

template <typename Op, int Quarters> struct TurnPattern : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op).isF32())
      return rewriter.notifyMatchFailure(op, "only f32");
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Type wide = builder.getF64Type();
    if (auto shaped = dyn_cast<ShapedType>(op.getType()))
      wide = shaped.clone(wide);
    Value angle = arith::ExtFOp::create(builder, wide, op.getOperand());
    Value value = Turn{builder, wide}.sine(angle, Quarters);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), value);
    return success();
  }
};

struct LowerMath : impl::LowerMathBase<LowerMath> {
  using LowerMathBase::LowerMathBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    arith::populateExpandBFloat16Patterns(patterns);
    if (nvptx)
      codegen::populateCardMathPatterns(patterns);
    if (polynomials) {
      patterns.add<ExpPattern, TurnPattern<math::SinOp, 0>, TurnPattern<math::CosOp, 1>>(&getContext());
      const StringRef own[] = {math::ExpOp::getOperationName(), math::SinOp::getOperationName(),
                               math::CosOp::getOperationName()};
      populateMathPolynomialApproximationPatterns(
          patterns, [&](StringRef name) { return !llvm::is_contained(own, name); });
    }
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace accum
