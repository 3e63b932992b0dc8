// SPDX-License-Identifier: Apache-2.0
// Binary cross-entropy, of probabilities and of logits.
#include "passes/Recognise/Recognisers.h"
#include "passes/Recognise/Terms.h"
#include <cmath>

using namespace mlir;

namespace accum::recognise {
namespace {
using nn::ElementwiseFn;

/// x of max(x, -100), the end of the framework's logarithms.
Value withoutEnd(Value value) {
  auto larger = definedBy(value, ElementwiseFn::max);
  for (unsigned i = 0; larger && i < 2; ++i)
    if (constantOf(larger.getOperands()[i]) == -100.0)
      return larger.getOperands()[1 - i];
  return {};
}

/// The factors of a product of two, the one that ends at -100 last, without its end.
std::pair<Value, Value> factorAndLogarithm(Value value) {
  auto product = definedBy(value, ElementwiseFn::mul);
  for (unsigned i = 0; product && i < 2; ++i)
    if (Value ended = withoutEnd(product.getOperands()[i]))
      return {product.getOperands()[1 - i], ended};
  return {};
}

/// t of t - 1.
Value oneMore(Value value) {
  auto difference = definedBy(value, ElementwiseFn::sub);
  if (difference && constantOf(difference.getOperands()[1]) == 1.0)
    return difference.getOperands()[0];
  return withoutAdded(value, -1);
}

DenseElementsAttr numbersOf(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto numbers = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return numbers && isa<FloatType>(numbers.getElementType()) ? numbers : DenseElementsAttr();
}

/// Whether `value` is t - 1, which is a constant where t is one.
bool isOneLess(Value value, Value t) {
  DenseElementsAttr less = numbersOf(value), more = numbersOf(t);
  if (!less || !more || less.getType() != more.getType())
    return oneMore(value) == t;
  return llvm::all_of_zip(less.getValues<APFloat>(), more.getValues<APFloat>(), [](APFloat a, APFloat b) {
    return std::abs(a.convertToDouble() + 1 - b.convertToDouble()) < 1e-6;
  });
}

/// (t - 1) * max(log(1 - p), -100) - t * max(log(p), -100), the framework's own binary cross-entropy.
struct RecogniseBinaryCrossEntropy : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    if (op.getFn() != ElementwiseFn::sub)
      return failure();
    auto [missed, complement] = factorAndLogarithm(op.getOperands()[0]);
    auto [target, logarithm] = factorAndLogarithm(op.getOperands()[1]);
    Value p = argumentOf(logarithm, ElementwiseFn::log);
    bool isOne = p && missed && isOneLess(missed, target) &&
                 complementOf(argumentOf(complement, ElementwiseFn::log)) == p;
    if (!isOne)
      return rewriter.notifyMatchFailure(op, "not a probability's logarithms weighed by a target");
    Value x = argumentOf(p, ElementwiseFn::sigmoid);
    auto fn = x ? ElementwiseFn::sigmoid_cross_entropy : ElementwiseFn::binary_cross_entropy;
    rewriter.replaceOpWithNewOp<nn::ElementwiseOp>(op, op.getType(), fn, ValueRange{x ? x : p, target});
    return success();
  }
};

/// scale * product of factors, one of which, softplus(z), or x with z = x or -x, is left out.
struct Weighed {
  double scale = 1;
  SmallVector<Value> factors;
};

std::optional<Weighed> without(Product product, Value factor) {
  auto *found = llvm::find(product.factors, factor);
  if (found == product.factors.end())
    return std::nullopt;
  product.factors.erase(found);
  return Weighed{product.constant, product.factors};
}

/// The operands of a sum or a difference, where both have its type.
bool isSum(nn::ElementwiseOp op) {
  return (op.getFn() == ElementwiseFn::add || op.getFn() == ElementwiseFn::sub) &&
         llvm::all_of(op.getOperands(), [&](Value operand) { return operand.getType() == op.getType(); });
}

bool isSoftplus(Value value) { return static_cast<bool>(definedBy(value, ElementwiseFn::softplus)); }

/// a * x + b * softplus(z) with z = x or -x, where the terms cancel: a and z / x differ in sign.
struct Cancelling {
  Value z;
  Weighed linear, soft; ///< linear's scale is that of z
};

std::optional<Cancelling> cancelling(nn::ElementwiseOp op) {
  for (unsigned i = 0; isSum(op) && i < 2; ++i) {
    Product product = productOf(op.getOperands()[i]);
    for (Value factor : product.factors) {
      Value z = argumentOf(factor, ElementwiseFn::softplus), inner = argumentOf(z, ElementwiseFn::neg);
      Value x = inner ? inner : z;
      if (!z || z.getType() != op.getType())
        continue;
      auto soft = without(product, factor);
      auto linear = without(productOf(op.getOperands()[1 - i], {x}), x);
      if (!linear || llvm::is_contained(linear->factors, x) || llvm::any_of(linear->factors, isSoftplus))
        continue;
      if (op.getFn() == ElementwiseFn::sub)
        (i == 0 ? *linear : *soft).scale *= -1;
      linear->scale *= inner ? -1 : 1;
      if (linear->scale < 0)
        return Cancelling{z, *linear, *soft};
    }
  }
  return std::nullopt;
}

/// a * x + b * softplus(z) as b' * softplus(z) + a' * softplus(-z), of which nothing cancels: so PyTorch's
/// binary cross-entropy of logits, (1 - t) * x + softplus(-x), and the usual softplus(x) - t * x. It has the
/// digits of an answer that is right and sure.
struct SplitCancelling : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    auto found = cancelling(op);
    if (!found)
      return rewriter.notifyMatchFailure(op, "no softplus beside its argument");
    Terms t{rewriter, op.getLoc(), op.getType()};
    Value z = found->z, soft = t.create(ElementwiseFn::softplus, {z});
    Value other = t.create(ElementwiseFn::softplus, {t.create(ElementwiseFn::neg, {z})});
    Weighed opposite = found->linear;
    opposite.scale = -opposite.scale;
    Value first = t.difference(soft, found->soft, opposite);
    rewriter.replaceOp(op, t.create(ElementwiseFn::add, {first, t.weigh(other, opposite)}));
    return success();
  }

private:
  struct Terms {
    PatternRewriter &rewriter;
    Location location;
    Type type;

    Value create(ElementwiseFn fn, ValueRange operands) const {
      return nn::ElementwiseOp::create(rewriter, location, type, fn, operands);
    }
    Value number(RankedTensorType as, double value) const {
      auto slab = RankedTensorType::get(as.getShape(), as.getElementType());
      auto splat = DenseElementsAttr::get(slab, rewriter.getFloatAttr(as.getElementType(), value));
      return nn::ConstantOp::create(rewriter, location, as, splat);
    }
    Value number(double value) const {
      return number(RankedTensorType::get({}, cast<RankedTensorType>(type).getElementType()), value);
    }
    Value weigh(Value value, const Weighed &weight) const {
      for (Value factor : weight.factors)
        value = create(ElementwiseFn::mul, {value, factor});
      return weight.scale == 1 ? value : create(ElementwiseFn::mul, {value, number(weight.scale)});
    }
    /// (a - b) * value, where 1 - (1 - t) is t.
    Value difference(Value value, const Weighed &a, const Weighed &b) const {
      bool isOne = a.factors.empty() && a.scale == 1 && b.factors.size() == 1 && b.scale == 1;
      if (Value rest = isOne ? complementOf(b.factors[0]) : Value())
        return create(ElementwiseFn::mul, {value, rest});
      Value ones = number(cast<RankedTensorType>(type), 1);
      Value weight = create(ElementwiseFn::sub, {weigh(ones, a), weigh(ones, b)});
      return create(ElementwiseFn::mul, {value, weight});
    }
  };
};
} // namespace

void addBinaryLossPatterns(RewritePatternSet &patterns) {
  patterns.add<RecogniseBinaryCrossEntropy>(patterns.getContext());
}

void addCancellingPatterns(RewritePatternSet &patterns) {
  patterns.add<SplitCancelling>(patterns.getContext());
}

} // namespace accum::recognise
