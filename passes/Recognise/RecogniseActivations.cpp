// SPDX-License-Identifier: Apache-2.0
// GELU in its erf and tanh forms, SiLU, softsign and x - tanh(x).
#include "passes/Recognise/Recognisers.h"
#include "passes/Recognise/Terms.h"
#include <cmath>
#include <numbers>

using namespace mlir;

namespace accum::recognise {
namespace {
using nn::ElementwiseFn;

/// x / y with y an operand of another kind than a constant, or x * y: what a product root looks like.
bool isRootOfProduct(nn::ElementwiseOp op) {
  return op.getFn() == ElementwiseFn::mul ||
         (op.getFn() == ElementwiseFn::div && constantOf(op.getOperands()[1]));
}

/// Replaces `op` by one function of `x`, when types agree.
LogicalResult replaceByActivation(nn::ElementwiseOp op, ElementwiseFn fn, Value x,
                                  PatternRewriter &rewriter) {
  if (x.getType() != op.getType())
    return rewriter.notifyMatchFailure(op, "the argument is broadcast");
  rewriter.replaceOpWithNewOp<nn::ElementwiseOp>(op, op.getType(), fn, ValueRange{x});
  return success();
}

/// Whether `value` is constant * x^power.
bool isPowerOf(Value value, Value x, size_t power, double constant) {
  Product product = productOf(value, x);
  bool isAllX = llvm::all_of(product.factors, [&](Value factor) { return factor == x; });
  return isAllX && product.factors.size() == power && isNear(product.constant, constant);
}

/// The other term of a sum of two, when one of them is `term`.
Value otherTerm(Value sum, Value term) {
  auto add = definedBy(sum, ElementwiseFn::add);
  if (!add || (add.getOperands()[0] != term && add.getOperands()[1] != term))
    return {};
  return add.getOperands()[add.getOperands()[0] == term ? 1 : 0];
}

/// x of erf(x / sqrt 2); its candidates are what remains when a constant is stripped.
Value argumentOfErf(Value bracket) {
  Value scaled = argumentOf(withoutAdded(bracket, 1), ElementwiseFn::erf);
  if (!scaled)
    return {};
  auto op = scaled.getDefiningOp<nn::ElementwiseOp>();
  for (Value x : op ? op.getOperands() : OperandRange(nullptr, 0))
    if (isPowerOf(scaled, x, 1, std::numbers::sqrt2 / 2))
      return x;
  return {};
}

/// x of tanh(sqrt(2 / pi) * (x + 0.044715 x^3)), also written x * (1 + 0.044715 x^2).
Value argumentOfTanh(Value bracket) {
  Value inner = argumentOf(withoutAdded(bracket, 1), ElementwiseFn::tanh);
  if (!inner)
    return {};
  Product product = productOf(inner);
  if (!isNear(product.constant, std::sqrt(2 / std::numbers::pi)))
    return {};
  constexpr double cubic = 0.044715;
  if (product.factors.size() == 1) {
    auto sum = definedBy(product.factors[0], ElementwiseFn::add);
    for (Value x : sum ? sum.getOperands() : OperandRange(nullptr, 0))
      if (Value rest = otherTerm(product.factors[0], x); rest && isPowerOf(rest, x, 3, cubic))
        return x;
  }
  for (unsigned i = 0; product.factors.size() == 2 && i < 2; ++i) {
    Value square = withoutAdded(product.factors[i], 1), x = product.factors[1 - i];
    if (square && isPowerOf(square, x, 2, cubic))
      return x;
  }
  return {};
}

/// 0.5 * x * (1 + erf(...)) or 0.5 * x * (1 + tanh(...)), multiplied in any order.
struct RecogniseGelu : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    if (!isRootOfProduct(op))
      return failure();
    for (Value bracket : productOf(op.getResult()).factors) {
      Value byErf = argumentOfErf(bracket), byTanh = byErf ? Value() : argumentOfTanh(bracket);
      Value x = byErf ? byErf : byTanh;
      if (!x)
        continue;
      Product product = productOf(op.getResult(), {x, bracket});
      bool isGelu = product.factors.size() == 2 && llvm::is_contained(product.factors, x) &&
                    isNear(product.constant, 0.5);
      if (isGelu)
        return replaceByActivation(op, byErf ? ElementwiseFn::gelu : ElementwiseFn::gelu_tanh, x, rewriter);
    }
    return rewriter.notifyMatchFailure(op, "not half of x times one plus erf or tanh");
  }
};

/// x of 1 + exp(-x).
Value underLogistic(Value value) {
  Value exponential = argumentOf(withoutAdded(value, 1), ElementwiseFn::exp);
  return exponential ? argumentOf(exponential, ElementwiseFn::neg) : Value();
}

/// x * sigmoid(x), or x / (1 + exp(-x)).
struct RecogniseSilu : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    if (op.getFn() == ElementwiseFn::div && underLogistic(op.getOperands()[1]) == op.getOperands()[0])
      return replaceByActivation(op, ElementwiseFn::silu, op.getOperands()[0], rewriter);
    for (unsigned i = 0; op.getFn() == ElementwiseFn::mul && i < 2; ++i)
      if (argumentOf(op.getOperands()[i], ElementwiseFn::sigmoid) == op.getOperands()[1 - i])
        return replaceByActivation(op, ElementwiseFn::silu, op.getOperands()[1 - i], rewriter);
    return rewriter.notifyMatchFailure(op, "not x times its sigmoid");
  }
};

/// x / (c + |x|), whose derivative c / (c + |x|)^2 is the difference of two terms that cancel from |x| = c
/// on: there as sign(x) * (1 - c / (c + |x|)), which has one term.
struct SplitSoftsign : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    auto sum = op.getFn() == ElementwiseFn::div ? sumWithConstant(op.getOperands()[1]) : std::nullopt;
    Value x = sum ? op.getOperands()[0] : Value();
    if (!sum || sum->second <= 0 || argumentOf(sum->first, ElementwiseFn::abs) != x ||
        x.getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "not x by a number and its magnitude");
    Replacement make{rewriter, op.getLoc()};
    auto apply = [&](ElementwiseFn fn, ValueRange operands) {
      return make.apply(op.getType(), fn, operands);
    };
    auto scalar = [&](double value) { return make.number(op.getType(), value); };
    Value rest = apply(ElementwiseFn::reciprocal, {op.getOperands()[1]});
    Value share = sum->second == 1 ? rest : apply(ElementwiseFn::mul, {rest, scalar(sum->second)});
    Value tail = apply(ElementwiseFn::mul,
                       {apply(ElementwiseFn::sign, {x}), apply(ElementwiseFn::sub, {scalar(1), share})});
    Type flags = cast<RankedTensorType>(op.getType()).clone(rewriter.getI1Type());
    Value isSmall = make.apply(flags, ElementwiseFn::lt, {sum->first, scalar(sum->second)});
    rewriter.replaceOp(op,
                       apply(ElementwiseFn::select, {isSmall, apply(ElementwiseFn::mul, {x, rest}), tail}));
    return success();
  }
};

/// x - tanh(x), whose terms cancel near 0: there as the series of x^3 * (1/3 - 2/15 x^2 + 17/315 x^4 - ...),
/// to 1e-6 of its value and derivative.
struct SplitTanhshrink : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    Value x = op.getFn() == ElementwiseFn::sub ? op.getOperands()[0] : Value();
    Value y = x ? op.getOperands()[1] : Value();
    if (!x || argumentOf(y, ElementwiseFn::tanh) != x || x.getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "not x less its tanh");
    Replacement make{rewriter, op.getLoc()};
    auto apply = [&](ElementwiseFn fn, ValueRange operands) {
      return make.apply(op.getType(), fn, operands);
    };
    auto scalar = [&](double value) { return make.number(op.getType(), value); };
    constexpr double series[] = {1 / 3.,         -2 / 15.,          17 / 315.,          -62 / 2835.,
                                 1382 / 155925., -21844 / 6081075., 929569 / 638512875.};
    constexpr double bound = 0.5;
    // Beyond the bound the series is not taken, and stays finite.
    Value square = apply(ElementwiseFn::min, {apply(ElementwiseFn::mul, {x, x}), scalar(bound * bound)});
    Value sum = apply(ElementwiseFn::mul, {square, scalar(series[6])});
    for (int i = 5; i > 0; --i)
      sum = apply(ElementwiseFn::mul, {square, apply(ElementwiseFn::add, {sum, scalar(series[i])})});
    sum = apply(ElementwiseFn::add, {sum, scalar(series[0])});
    Value nearZero = apply(ElementwiseFn::mul, {x, apply(ElementwiseFn::mul, {square, sum})});
    Value difference = apply(ElementwiseFn::add, {x, apply(ElementwiseFn::neg, {y})});
    Type flags = cast<RankedTensorType>(op.getType()).clone(rewriter.getI1Type());
    Value isSmall = make.apply(flags, ElementwiseFn::lt, {apply(ElementwiseFn::abs, {x}), scalar(bound)});
    rewriter.replaceOp(op, apply(ElementwiseFn::select, {isSmall, nearZero, difference}));
    return success();
  }
};
} // namespace

void addActivationPatterns(RewritePatternSet &patterns) {
  patterns.add<RecogniseGelu, RecogniseSilu, SplitSoftsign, SplitTanhshrink>(patterns.getContext());
}

} // namespace accum::recognise
