// SPDX-License-Identifier: Apache-2.0
// Intrinsics take scalars: vectors are taken apart, and the code generator puts nothing between.
#include "passes/Codegen/CardMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include <numbers>

using namespace mlir;

namespace accum::codegen {
namespace {

constexpr unsigned kBeforeOthers = 2; ///< benefit

bool isF32(Value value) { return getElementTypeOrSelf(value).isF32(); }

/// Arithmetic on f32, or on vectors of it.
struct Arithmetic {
  ImplicitLocOpBuilder b;
  Type type;

  Arithmetic(Operation *op, PatternRewriter &rewriter)
      : b(op->getLoc(), rewriter), type(op->getResult(0).getType()) {}

  Value constant(double value) {
    TypedAttr attribute = b.getF32FloatAttr(static_cast<float>(value));
    if (auto shaped = dyn_cast<ShapedType>(type))
      attribute = DenseElementsAttr::get(shaped, Attribute(attribute));
    return arith::ConstantOp::create(b, attribute);
  }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }

  Value call(StringRef intrinsic, Value x) {
    auto one = [&](Value scalar) {
      return LLVM::CallIntrinsicOp::create(b, b.getF32Type(), b.getStringAttr(intrinsic), ValueRange(scalar))
          .getResult(0);
    };
    auto vector = dyn_cast<VectorType>(type);
    if (!vector)
      return one(x);
    SmallVector<Value> results;
    for (int64_t lane = 0; lane < vector.getNumElements(); ++lane)
      results.push_back(one(vector::ExtractOp::create(b, x, lane)));
    return vector::FromElementsOp::create(b, vector, results);
  }
  Value exp2(Value x) { return call("llvm.nvvm.ex2.approx.ftz", x); }
  Value reciprocal(Value x) { return call("llvm.nvvm.rcp.approx.ftz.f", x); }

  /// From the exponential of twice the argument: off by 2^-24 of one.
  Value tanhBesideOne(Value x) {
    Value e = exp2(mul(x, constant(2 * std::numbers::log2e)));
    return fma(reciprocal(add(e, constant(1))), constant(-2), constant(1));
  }
};

struct CardExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    if (!isF32(op))
      return rewriter.notifyMatchFailure(op, "only f32");
    Arithmetic a(op, rewriter);
    rewriter.replaceOp(op, a.exp2(a.mul(op.getOperand(), a.constant(std::numbers::log2e))));
    return success();
  }
};

/// Near zero, where one minus nearly one would lose digits, x + x^3 * P(x^2): P is fitted for the least
/// relative error, 8e-8, below 0.6.
struct CardTanh : OpRewritePattern<math::TanhOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::TanhOp op, PatternRewriter &rewriter) const override {
    if (!isF32(op))
      return rewriter.notifyMatchFailure(op, "only f32");
    Arithmetic a(op, rewriter);
    Value x = op.getOperand();
    if (bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn)) {
      rewriter.replaceOp(op, a.tanhBesideOne(x));
      return success();
    }
    Value magnitude = math::AbsFOp::create(a.b, x);
    Value large = math::CopySignOp::create(a.b, a.tanhBesideOne(magnitude), x);
    Value square = a.mul(x, x), sum = a.constant(0.01561261);
    for (double coefficient : {-0.05221179, 0.13313116, -0.33332597})
      sum = a.fma(sum, square, a.constant(coefficient));
    Value small = a.fma(a.mul(sum, square), x, x);
    Value isSmall = arith::CmpFOp::create(a.b, arith::CmpFPredicate::OLT, magnitude, a.constant(0.6));
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isSmall, small, large);
    return success();
  }
};

/// 1 - t * P(t) * e^(-x^2) with t = 1 / (1 + 0.39 |x|), the form of Abramowitz and Stegun's 7.1.26 with one
/// more term: P is fitted for the least error, 8e-9; in f32 it is 4e-7. Only beside one, where that is
/// enough.
struct CardErf : OpRewritePattern<math::ErfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ErfOp op, PatternRewriter &rewriter) const override {
    if (!isF32(op) || !bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn))
      return rewriter.notifyMatchFailure(op, "only f32, where the absolute error counts");
    Arithmetic a(op, rewriter);
    Value x = op.getOperand(), magnitude = math::AbsFOp::create(a.b, x);
    Value t = a.reciprocal(a.fma(magnitude, a.constant(0.39), a.constant(1)));
    Value sum = a.constant(-0.22753738524);
    for (double coefficient : {0.88666543371, -0.63540200837, 0.64956079577, 0.09138785399, 0.23532530844})
      sum = a.fma(sum, t, a.constant(coefficient));
    Value power = a.exp2(a.mul(a.mul(x, x), a.constant(-std::numbers::log2e)));
    Value rest = a.mul(a.mul(sum, t), power);
    Value value = a.add(a.constant(1), arith::NegFOp::create(a.b, rest));
    rewriter.replaceOpWithNewOp<math::CopySignOp>(op, value, x);
    return success();
  }
};

struct CardReciprocal : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op, PatternRewriter &rewriter) const override {
    if (!isF32(op) || !matchPattern(op.getLhs(), m_OneFloat()))
      return rewriter.notifyMatchFailure(op, "only 1 / f32");
    rewriter.replaceOp(op, Arithmetic(op, rewriter).reciprocal(op.getRhs()));
    return success();
  }
};

/// `isnan(a) ? a : a > b ? a : b`, and so with `<`: an instruction has that, NaN for NaN.
struct CardExtreme : OpRewritePattern<arith::SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::SelectOp op, PatternRewriter &rewriter) const override {
    Value a = op.getTrueValue();
    auto isNaN = op.getCondition().getDefiningOp<arith::CmpFOp>();
    auto other = op.getFalseValue().getDefiningOp<arith::SelectOp>();
    auto wins = other ? other.getCondition().getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
    if (!isF32(a) || !isNaN || !wins || isNaN.getPredicate() != arith::CmpFPredicate::UNO)
      return rewriter.notifyMatchFailure(op, "not the larger or smaller of two f32");
    Value b = other.getFalseValue();
    if (isNaN.getLhs() != a || isNaN.getRhs() != a || other.getTrueValue() != a || wins.getLhs() != a ||
        wins.getRhs() != b)
      return rewriter.notifyMatchFailure(op, "compares others than it selects");
    if (wins.getPredicate() == arith::CmpFPredicate::OGT)
      rewriter.replaceOpWithNewOp<arith::MaximumFOp>(op, a, b);
    else if (wins.getPredicate() == arith::CmpFPredicate::OLT)
      rewriter.replaceOpWithNewOp<arith::MinimumFOp>(op, a, b);
    else
      return failure();
    return success();
  }
};

/// An intrinsic, not llvm.fptrunc, which the optimiser may pull in front of arithmetic; of a vector's lanes
/// two by two.
struct CardRound : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    auto vector = dyn_cast<VectorType>(op.getType());
    if (!getElementTypeOrSelf(op.getType()).isBF16() || !isF32(op.getIn()) ||
        (vector && vector.getNumElements() % 2))
      return rewriter.notifyMatchFailure(op, "only f32 to bf16, in pairs");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    if (!vector) {
      rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
          op, op.getType(), b.getStringAttr("llvm.nvvm.f2bf16.rn"), ValueRange(op.getIn()));
      return success();
    }
    auto lane = [&](int64_t number) -> Value { return vector::ExtractOp::create(b, op.getIn(), number); };
    SmallVector<Value> words;
    for (int64_t first = 0; first < vector.getNumElements(); first += 2) {
      Value ordered[] = {lane(first + 1), lane(first)}; // the upper half comes first
      Value halves = LLVM::CallIntrinsicOp::create(b, VectorType::get(2, b.getBF16Type()),
                                                   b.getStringAttr("llvm.nvvm.ff2bf16x2.rn"), ordered)
                         .getResult(0);
      words.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), halves));
    }
    auto packed = VectorType::get(static_cast<int64_t>(words.size()), b.getI32Type());
    Value all = vector::FromElementsOp::create(b, packed, words);
    rewriter.replaceOpWithNewOp<vector::BitCastOp>(op, vector, all);
    return success();
  }
};

} // namespace

void populateCardMathPatterns(RewritePatternSet &patterns) {
  patterns.add<CardExp, CardTanh, CardErf, CardReciprocal, CardExtreme, CardRound>(patterns.getContext(),
                                                                                   kBeforeOthers);
}

} // namespace accum::codegen
