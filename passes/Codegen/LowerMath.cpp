// SPDX-License-Identifier: Apache-2.0
// Functions as arithmetic: polynomials for f32, and what no processor has for bf16.
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
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
    if (polynomials) {
      patterns.add<TurnPattern<math::SinOp, 0>, TurnPattern<math::CosOp, 1>>(&getContext());
      populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
        return name != math::SinOp::getOperationName() && name != math::CosOp::getOperationName();
      });
    }
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace accum
