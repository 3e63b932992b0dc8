// SPDX-License-Identifier: Apache-2.0
// Logarithms and exponentials that lose their digits as they are written: log of a sigmoid, log(1 + x),
// exp(x) - 1, the logarithm of a sum of exponentials; sigmoids that are written out, and their logits.
#include "passes/Recognise/Recognisers.h"
#include "passes/Recognise/Terms.h"
#include <cmath>

using namespace mlir;

namespace accum::recognise {
namespace {
using nn::ElementwiseFn;

Value apply(PatternRewriter &rewriter, Location location, Type type, ElementwiseFn fn, ValueRange operands) {
  return nn::ElementwiseOp::create(rewriter, location, type, fn, operands);
}

/// fn(x) in x's own type.
Value apply(PatternRewriter &rewriter, Location location, ElementwiseFn fn, Value x) {
  return apply(rewriter, location, x.getType(), fn, x);
}

/// 1 - sigmoid(x) is sigmoid(-x).
struct RecogniseComplement : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    Value x = argumentOf(complementOf(op.getResult()), ElementwiseFn::sigmoid);
    if (!x || x.getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "not one less a sigmoid");
    rewriter.replaceOpWithNewOp<nn::ElementwiseOp>(
        op, op.getType(), ElementwiseFn::sigmoid,
        ValueRange{apply(rewriter, op.getLoc(), ElementwiseFn::neg, x)});
    return success();
  }
};

/// x of exp(x) / (1 + exp(x)) or 1 / (1 + exp(-x)).
Value underLogistic(nn::ElementwiseOp op, PatternRewriter &rewriter) {
  bool isQuotient = op.getFn() == ElementwiseFn::div;
  if (!isQuotient && op.getFn() != ElementwiseFn::reciprocal)
    return {};
  Value exponential = withoutAdded(op.getOperands()[isQuotient ? 1 : 0], 1);
  Value exponent = argumentOf(exponential, ElementwiseFn::exp);
  if (!exponent || exponent.getType() != op.getType())
    return {};
  if (isQuotient && op.getOperands()[0] == exponential)
    return exponent;
  if (isQuotient && constantOf(op.getOperands()[0]) != 1.0)
    return {};
  Value x = argumentOf(exponent, ElementwiseFn::neg);
  return x ? x : apply(rewriter, op.getLoc(), ElementwiseFn::neg, exponent);
}

/// A sigmoid that is written out: its derivative is 0 where 1 + exp(x) has no digits of one left.
struct RecogniseSigmoid : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    Value x = underLogistic(op, rewriter);
    if (!x)
      return rewriter.notifyMatchFailure(op, "not a sigmoid written out");
    rewriter.replaceOpWithNewOp<nn::ElementwiseOp>(op, op.getType(), ElementwiseFn::sigmoid, ValueRange{x});
    return success();
  }
};

/// The bounds of a value, the innermost first.
struct Bound {
  ElementwiseFn fn;
  double number;
};
/// p and its bound, of min(p, c), max(p, c) or a choice between both by their comparison.
std::optional<std::pair<Value, Bound>> boundOf(Value value) {
  auto op = value.getDefiningOp<nn::ElementwiseOp>();
  if (!op)
    return std::nullopt;
  if (op.getFn() == ElementwiseFn::min || op.getFn() == ElementwiseFn::max) {
    std::optional<double> number = constantOf(op.getOperands()[1]);
    return number ? std::optional(std::pair(op.getOperands()[0], Bound{op.getFn(), *number})) : std::nullopt;
  }
  auto test = op.getFn() == ElementwiseFn::select ? op.getOperands()[0].getDefiningOp<nn::ElementwiseOp>()
                                                  : nn::ElementwiseOp();
  bool isLess = test && (test.getFn() == ElementwiseFn::lt || test.getFn() == ElementwiseFn::le);
  if (!isLess && !(test && (test.getFn() == ElementwiseFn::gt || test.getFn() == ElementwiseFn::ge)))
    return std::nullopt;
  for (unsigned i = 0; i < 2; ++i) {
    Value p = test.getOperands()[i];
    std::optional<double> number = constantOf(test.getOperands()[1 - i]);
    bool takesIt = op.getOperands()[1] == p;
    if (!number || constantOf(op.getOperands()[takesIt ? 2 : 1]) != number ||
        op.getOperands()[takesIt ? 1 : 2] != p)
      continue;
    bool isSmaller = isLess == (i == 0); // p < c, and not c < p
    return std::pair(p, Bound{isSmaller == takesIt ? ElementwiseFn::min : ElementwiseFn::max, *number});
  }
  return std::nullopt;
}

/// What is bounded; fills `bounds`.
Value withoutBounds(Value value, SmallVectorImpl<Bound> &bounds) {
  auto bound = boundOf(value);
  if (!bound)
    return value;
  Value inner = withoutBounds(bound->first, bounds);
  bounds.push_back(bound->second);
  return inner;
}

/// log(p / (1 - p)) with p = sigmoid(x) is x, between the logits of p's bounds: it has no digits where p is
/// nearly one.
struct RecogniseLogit : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    auto odds = definedBy(argumentOf(op.getResult(), ElementwiseFn::log), ElementwiseFn::div);
    Value p = odds ? odds.getOperands()[0] : Value();
    SmallVector<Bound> bounds;
    Value x = p ? argumentOf(withoutBounds(p, bounds), ElementwiseFn::sigmoid) : Value();
    if (!x || x.getType() != op.getType() || !isComplement(odds.getOperands()[1], p, x) ||
        llvm::any_of(bounds, [](const Bound &bound) { return bound.number <= 0 || bound.number >= 1; }))
      return rewriter.notifyMatchFailure(op, "not the logit of a sigmoid");
    Replacement make{rewriter, op.getLoc()};
    for (const Bound &bound : bounds)
      x = make.apply(op.getType(), bound.fn,
                     {x, make.number(op.getType(), std::log(bound.number) - std::log1p(-bound.number))});
    rewriter.replaceOp(op, x);
    return success();
  }

private:
  /// Of p, which is the sigmoid of x where it has no bounds.
  static bool isComplement(Value value, Value p, Value x) {
    Value other = argumentOf(argumentOf(value, ElementwiseFn::sigmoid), ElementwiseFn::neg);
    return complementOf(value) == p || (other == x && definedBy(p, ElementwiseFn::sigmoid));
  }
};

/// log(sigmoid(x)) is -softplus(-x).
struct RecogniseLogSigmoid : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    Value x = argumentOf(argumentOf(op.getResult(), ElementwiseFn::log), ElementwiseFn::sigmoid);
    if (!x)
      return rewriter.notifyMatchFailure(op, "not the logarithm of a sigmoid");
    Value negative = apply(rewriter, op.getLoc(), ElementwiseFn::neg, x);
    Value soft = apply(rewriter, op.getLoc(), ElementwiseFn::softplus, negative);
    rewriter.replaceOpWithNewOp<nn::ElementwiseOp>(op, op.getType(), ElementwiseFn::neg, ValueRange{soft});
    return success();
  }
};

/// log(1 + exp(x)) is softplus(x), and log(1 + x) or log(1 - x) of anything else log1p. What is a sigmoid's
/// complement becomes a sigmoid.
struct RecogniseLogOnePlus : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    Value sum = argumentOf(op.getResult(), ElementwiseFn::log), rest = complementOf(sum);
    Value x = rest ? rest : withoutAdded(sum, 1);
    if (!x || x.getType() != op.getType() || constantOf(x) || definedBy(x, ElementwiseFn::sigmoid))
      return rewriter.notifyMatchFailure(op, "not the logarithm of one and another value");
    if (Value exponent = rest ? Value() : argumentOf(x, ElementwiseFn::exp))
      rewriter.replaceOpWithNewOp<nn::ElementwiseOp>(op, op.getType(), ElementwiseFn::softplus,
                                                     ValueRange{exponent});
    else
      rewriter.replaceOpWithNewOp<nn::ElementwiseOp>(
          op, op.getType(), ElementwiseFn::log1p,
          ValueRange{rest ? apply(rewriter, op.getLoc(), ElementwiseFn::neg, x) : x});
    return success();
  }
};

/// x where x > 20, else softplus(x), divided by what x was multiplied with: PyTorch's softplus. Beyond 20
/// both have the same digits.
struct RecogniseSoftplus : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    if (op.getFn() != ElementwiseFn::select)
      return failure();
    Value linear = op.getOperands()[1], curved = op.getOperands()[2];
    auto isLarge = definedBy(op.getOperands()[0], ElementwiseFn::gt);
    Product product = productOf(curved);
    Value x = product.factors.size() == 1 ? argumentOf(product.factors[0], ElementwiseFn::softplus) : Value();
    std::optional<double> threshold = isLarge && x ? constantOf(isLarge.getOperands()[1]) : std::nullopt;
    bool isOwn =
        threshold && *threshold >= 20 && isLarge.getOperands()[0] == x && curved.getType() == op.getType();
    Product whole = isOwn ? productOf(x, {linear}) : Product();
    bool isSame = whole.factors.size() == 1 && whole.factors[0] == linear &&
                  isNear(whole.constant * product.constant, 1);
    if (!isSame)
      return rewriter.notifyMatchFailure(op, "not softplus where it is not linear");
    // Without a factor of one, others see that x is also what it was multiplied with.
    bool isPlain = product.constant == 1 && linear.getType() == op.getType();
    rewriter.replaceOp(op, isPlain ? apply(rewriter, op.getLoc(), ElementwiseFn::softplus, linear) : curved);
    return success();
  }
};

/// x of exp(x) - 1.
Value underExpm1(nn::ElementwiseOp op) {
  if (op.getFn() == ElementwiseFn::sub && constantOf(op.getOperands()[1]) == 1.0)
    return argumentOf(op.getOperands()[0], ElementwiseFn::exp);
  return argumentOf(withoutAdded(op.getResult(), -1), ElementwiseFn::exp);
}

/// exp(x) - 1 is expm1(x), and 1 - exp(x) its negative.
struct RecogniseExpm1 : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    Value negated = argumentOf(complementOf(op.getResult()), ElementwiseFn::exp);
    Value x = negated ? negated : underExpm1(op);
    if (!x || x.getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "not an exponential less one");
    Value value = apply(rewriter, op.getLoc(), ElementwiseFn::expm1, x);
    rewriter.replaceOp(op, negated ? apply(rewriter, op.getLoc(), ElementwiseFn::neg, value) : value);
    return success();
  }
};

/// Whether `value` is a constant of positive numbers.
bool isPositive(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto numbers = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return numbers && isa<FloatType>(numbers.getElementType()) &&
         llvm::all_of(numbers.getValues<APFloat>(),
                      [](const APFloat &x) { return x.isFiniteNonZero() && !x.isNegative(); });
}

/// x of exp(x * scale): an exponential, or a power of a positive number. Of a number it is the number itself.
struct Exponential {
  Value x;
  double scale = 1;
  bool isNumber = false;
};
std::optional<Exponential> exponential(Value value) {
  if (Value x = argumentOf(value, ElementwiseFn::exp))
    return Exponential{x};
  if (isPositive(value))
    return Exponential{value, 1, true};
  auto power = definedBy(value, ElementwiseFn::pow);
  std::optional<double> base = power ? constantOf(power.getOperands()[0]) : std::nullopt;
  if (!base || *base <= 0 || *base == 1 || std::isinf(*base))
    return std::nullopt;
  return Exponential{power.getOperands()[1], std::log(*base)};
}

/// log(exp(a) + exp(b)) is max(a, b) + softplus(-|a - b|).
struct RecogniseLogAddExp : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    auto sum = definedBy(argumentOf(op.getResult(), ElementwiseFn::log), ElementwiseFn::add);
    auto left = sum ? exponential(sum.getOperands()[0]) : std::nullopt;
    auto right = sum ? exponential(sum.getOperands()[1]) : std::nullopt;
    if (!left || !right || (left->isNumber && right->isNumber))
      return rewriter.notifyMatchFailure(op, "not the logarithm of two exponentials");
    Location location = op.getLoc();
    auto create = [&](ElementwiseFn fn, ValueRange operands) {
      return apply(rewriter, location, op.getType(), fn, operands);
    };
    Value a = scaled(rewriter, location, *left), b = scaled(rewriter, location, *right);
    Value distance = create(ElementwiseFn::abs, create(ElementwiseFn::sub, {a, b}));
    Value rest = create(ElementwiseFn::softplus, create(ElementwiseFn::neg, distance));
    rewriter.replaceOp(op, create(ElementwiseFn::add, {create(ElementwiseFn::max, {a, b}), rest}));
    return success();
  }

private:
  static Value scaled(PatternRewriter &rewriter, Location location, Exponential e) {
    if (e.isNumber)
      return apply(rewriter, location, ElementwiseFn::log, e.x);
    if (e.scale == 1)
      return e.x;
    auto type = cast<RankedTensorType>(e.x.getType());
    auto scalar = RankedTensorType::get({}, type.getElementType());
    auto number = DenseElementsAttr::get(scalar, rewriter.getFloatAttr(type.getElementType(), e.scale));
    Value factor = nn::ConstantOp::create(rewriter, location, scalar, number);
    return apply(rewriter, location, type, ElementwiseFn::mul, {e.x, factor});
  }
};
} // namespace

void addLogarithmPatterns(RewritePatternSet &patterns) {
  patterns.add<RecogniseSoftplus, RecogniseSigmoid, RecogniseLogit, RecogniseComplement, RecogniseLogSigmoid,
               RecogniseLogOnePlus, RecogniseExpm1, RecogniseLogAddExp>(patterns.getContext());
}

} // namespace accum::recognise
