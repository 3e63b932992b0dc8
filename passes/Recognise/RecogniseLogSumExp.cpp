// SPDX-License-Identifier: Apache-2.0
// The logarithm of a sum of exponentials, of whole axes and of running sums: finite wherever its terms are.
#include "passes/Recognise/Recognisers.h"
#include "passes/Recognise/Terms.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace accum::recognise {
namespace {
using nn::ElementwiseFn;
using nn::ReduceKind;

Value reduced(Replacement to, nn::ReduceOp like, ReduceKind kind, Value x) {
  return nn::ReduceOp::create(to.rewriter, to.location, like.getType(), kind, x, like.getAxesAttr());
}

Value reshaped(Replacement to, Value value, Type type) {
  return value.getType() == type ? value
                                 : nn::ReshapeOp::create(to.rewriter, to.location, type, value).getResult();
}

/// factor * sum(exp(x)), under changes of shape.
struct SumOfExponentials {
  nn::ReduceOp reduce;
  Value x;
  double factor = 1;
};

std::optional<SumOfExponentials> sumOfExponentials(Value value) {
  SumOfExponentials found;
  for (bool isMoving = true; isMoving;) {
    Product scaled = productOf(value);
    auto reshape = value.getDefiningOp<nn::ReshapeOp>();
    isMoving = reshape || (scaled.factors.size() == 1 && scaled.factors[0] != value);
    if (!reshape && isMoving)
      found.factor *= scaled.constant;
    if (isMoving)
      value = reshape ? reshape.getInput() : scaled.factors[0];
  }
  found.reduce = value.getDefiningOp<nn::ReduceOp>();
  if (!found.reduce || found.reduce.getKind() != ReduceKind::sum || !(found.factor > 0))
    return std::nullopt;
  Value terms = found.reduce.getInput();
  bool isOverBatch = llvm::any_of(found.reduce.getAxes(),
                                  [&](int64_t axis) { return llvm::is_contained(batchAxesOf(terms), axis); });
  found.x = isOverBatch ? Value() : argumentOf(terms, ElementwiseFn::exp);
  return found.x && found.x.getType() == terms.getType() ? std::optional(found) : std::nullopt;
}

/// Whether `x` is less its own maximum already, as this file and import write it.
bool isShifted(Value x) {
  auto difference = definedBy(x, ElementwiseFn::sub);
  Value top = difference ? difference.getOperands()[1] : Value();
  while (auto reshape = top ? top.getDefiningOp<nn::ReshapeOp>() : nn::ReshapeOp())
    top = reshape.getInput();
  if (auto guard = definedBy(top, ElementwiseFn::select))
    top = guard.getOperands()[2];
  auto reduce = top ? top.getDefiningOp<nn::ReduceOp>() : nn::ReduceOp();
  return reduce && reduce.getKind() == ReduceKind::max;
}

/// log(sum(exp(x))) is top + log(sum(exp(x - top))) with the largest x for top, or zero where that is -inf.
struct RecogniseLogSumExp : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    Value inner = argumentOf(op.getResult(), ElementwiseFn::log);
    auto sum = inner ? sumOfExponentials(inner) : std::nullopt;
    if (!sum || isShifted(sum->x))
      return rewriter.notifyMatchFailure(op,
                                         "not the logarithm of a sum of exponentials, or in range already");
    Replacement b{rewriter, op.getLoc()};
    auto type = cast<RankedTensorType>(sum->x.getType());
    Type rows = sum->reduce.getType(), flags = cast<RankedTensorType>(rows).clone(rewriter.getI1Type());
    SmallVector<int64_t> kept(type.getShape());
    for (int64_t axis : sum->reduce.getAxes())
      kept[axis] = 1;
    Value top = reduced(b, sum->reduce, ReduceKind::max, sum->x);
    Value lowest = b.number(type, -std::numeric_limits<double>::infinity());
    Value isEmpty = b.apply(flags, ElementwiseFn::eq, {top, lowest});
    top = b.apply(rows, ElementwiseFn::select, {isEmpty, b.number(type, 0), top});
    Value column = reshaped(b, top, RankedTensorType::get(kept, type.getElementType(), type.getEncoding()));
    Value rest = b.apply(type, ElementwiseFn::exp, b.apply(type, ElementwiseFn::sub, {sum->x, column}));
    Value log = b.apply(rows, ElementwiseFn::log, reduced(b, sum->reduce, ReduceKind::sum, rest));
    log = b.apply(rows, ElementwiseFn::add, {log, top});
    if (sum->factor != 1)
      log = b.apply(rows, ElementwiseFn::add, {log, b.number(type, std::log(sum->factor))});
    rewriter.replaceOp(op, reshaped(b, log, op.getType()));
    return success();
  }
};

nn::CumSumOp runningLog(PatternRewriter &rewriter, nn::CumSumOp like, Location location, Value x) {
  return nn::CumSumOp::create(rewriter, location, x.getType(), x, like.getAxisAttr(), UnitAttr(),
                              like.getReverseAttr(), rewriter.getUnitAttr());
}

/// log(cumsum(exp(x))).
struct RecogniseLogCumSum : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    Value inner = argumentOf(op.getResult(), ElementwiseFn::log);
    auto sum = inner ? inner.getDefiningOp<nn::CumSumOp>() : nn::CumSumOp();
    bool isPlain = sum && !sum.getExclusive() && !sum.getLog();
    Value x = isPlain ? argumentOf(sum.getInput(), ElementwiseFn::exp) : Value();
    if (!x || x.getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "not the logarithm of a running sum of exponentials");
    rewriter.replaceOp(op, runningLog(rewriter, sum, op.getLoc(), x));
    return success();
  }
};

/// Whether every element along `axis` of a value of that rank sees the same element of `value`.
bool isEqualAlong(Value value, int64_t axis, int64_t rank) {
  int64_t own = axis - (rank - static_cast<int64_t>(shapeOf(value).size()));
  return own < 0 || (shapeOf(value)[own] == 1 && !llvm::is_contained(batchAxesOf(value), own));
}

/// The same of x - m, plus m: the dynamo exporter's logcumsumexp, whose m is the largest of the whole axis.
/// Elements far below it, that come before it, would have lost all digits.
struct RecogniseShiftedLogCumSum : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    for (unsigned i = 0; op.getFn() == ElementwiseFn::add && i < 2; ++i) {
      auto sum = op.getOperands()[i].getDefiningOp<nn::CumSumOp>();
      Value shift = op.getOperands()[1 - i];
      auto shifted =
          sum && sum.getLog() ? definedBy(sum.getInput(), ElementwiseFn::sub) : nn::ElementwiseOp();
      if (!shifted || shifted.getOperands()[1] != shift ||
          shifted.getOperands()[0].getType() != op.getType() ||
          !isEqualAlong(shift, sum.getAxis(), static_cast<int64_t>(shapeOf(op.getResult()).size())))
        continue;
      rewriter.replaceOp(op, runningLog(rewriter, sum, op.getLoc(), shifted.getOperands()[0]));
      return success();
    }
    return rewriter.notifyMatchFailure(op, "not a shifted running log-sum-exp");
  }
};
} // namespace

void addLogSumExpPatterns(RewritePatternSet &patterns) {
  patterns.add<RecogniseLogSumExp, RecogniseLogCumSum, RecogniseShiftedLogCumSum>(patterns.getContext());
}

} // namespace accum::recognise
