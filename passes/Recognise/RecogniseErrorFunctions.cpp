// SPDX-License-Identifier: Apache-2.0
// The complementary error function, of which 1 - erf(x) has no digits in the tail: alone, times exp(x^2), and
// under a logarithm.
#include "passes/Recognise/Recognisers.h"
#include "passes/Recognise/Terms.h"
#include <cmath>

using namespace mlir;

namespace accum::recognise {
namespace {
using nn::ElementwiseFn;

/// x, or -x where `isNegated`.
struct Argument {
  Value x;
  bool isNegated = false;

  Value emit(Replacement to) const { return isNegated ? to.apply(x.getType(), ElementwiseFn::neg, x) : x; }
};

/// x of 1 - erf(x), which is erfc(x), and of 1 + erf(x), which is erfc(-x).
Argument ofComplement(Value value) {
  if (Value x = argumentOf(complementOf(value), ElementwiseFn::erf))
    return {x};
  return {argumentOf(withoutAdded(value, 1), ElementwiseFn::erf), true};
}

struct RecogniseErfc : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    Argument argument = ofComplement(op.getResult());
    if (!argument.x || argument.x.getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "not one and an error function");
    Value x = argument.emit({rewriter, op.getLoc()});
    rewriter.replaceOpWithNewOp<nn::ElementwiseOp>(op, op.getType(), ElementwiseFn::erfc, ValueRange{x});
    return success();
  }
};

/// Whether `value` is x * x, whatever x is a product of.
bool isSquareOf(Value value, Value x) {
  Product square = productOf(value), once = productOf(x);
  if (square.factors.size() != 2 * once.factors.size() ||
      !isNear(square.constant, once.constant * once.constant))
    return false;
  for (Value factor : once.factors)
    for (int i = 0; i < 2; ++i) {
      auto *found = llvm::find(square.factors, factor);
      if (found == square.factors.end())
        return false;
      square.factors.erase(found);
    }
  return true;
}

/// exp(x * x) * erfc(x), also times a number: each factor leaves the range where the product is far from its
/// ends.
struct RecogniseErfcx : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    if (op.getFn() != ElementwiseFn::mul)
      return failure();
    Product product = productOf(op.getResult());
    for (unsigned i = 0; product.factors.size() == 2 && i < 2; ++i) {
      Value exponent = argumentOf(product.factors[i], ElementwiseFn::exp);
      Value x = argumentOf(product.factors[1 - i], ElementwiseFn::erfc);
      if (!exponent || !x || x.getType() != op.getType() || !isSquareOf(exponent, x))
        continue;
      Replacement to{rewriter, op.getLoc()};
      Value scaled = to.apply(op.getType(), ElementwiseFn::erfcx, x);
      if (product.constant != 1)
        scaled =
            to.apply(op.getType(), ElementwiseFn::mul, {scaled, to.number(op.getType(), product.constant)});
      rewriter.replaceOp(op, scaled);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "not an exponential of a square times erfc of its root");
  }
};

/// x of what has the value erfc(x) - 1: -erf(x), and erf(x) for its other side.
Argument ofComplementLessOne(Value value) {
  if (Value x = argumentOf(argumentOf(value, ElementwiseFn::neg), ElementwiseFn::erf))
    return {x};
  return {argumentOf(value, ElementwiseFn::erf), true};
}

/// log(factor * erfc(x)), also as log1p of erfc(x) - 1.
struct RecogniseLogErfc : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    Argument argument;
    double factor = 1;
    if (op.getFn() == ElementwiseFn::log1p) {
      argument = ofComplementLessOne(op.getOperands()[0]);
    } else if (op.getFn() == ElementwiseFn::log) {
      Product product = productOf(op.getOperands()[0]);
      bool isOne = product.factors.size() == 1 && product.constant > 0;
      argument.x = isOne ? argumentOf(product.factors[0], ElementwiseFn::erfc) : Value();
      factor = product.constant;
    }
    if (!argument.x || argument.x.getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "not the logarithm of a complementary error function");
    Replacement to{rewriter, op.getLoc()};
    Value x = argument.emit(to);
    Value log = to.apply(op.getType(), ElementwiseFn::log_erfc, x);
    if (factor != 1)
      log = to.apply(op.getType(), ElementwiseFn::add, {log, to.number(op.getType(), std::log(factor))});
    rewriter.replaceOp(op, log);
    return success();
  }
};
} // namespace

void addErrorFunctionPatterns(RewritePatternSet &patterns) {
  patterns.add<RecogniseErfc, RecogniseErfcx, RecogniseLogErfc>(patterns.getContext());
}

} // namespace accum::recognise
