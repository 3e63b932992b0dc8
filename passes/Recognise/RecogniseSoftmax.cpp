// SPDX-License-Identifier: Apache-2.0
// Softmax and its logarithm from exponentials, and the guard against fully masked rows.
#include "dialects/Train/TrainDialect.h"
#include "passes/Recognise/Recognisers.h"
#include "passes/Recognise/Terms.h"
#include <limits>

using namespace mlir;

namespace accum::recognise {
namespace {
using nn::ElementwiseFn;
using nn::ReduceKind;

/// The last axis alone: what rows of a softmax are here.
bool isLastAxis(const RowReduction &reduction) {
  return reduction.factor == 1 && reduction.axis + 1 == static_cast<int64_t>(shapeOf(reduction.input).size());
}

/// x of x - max(x), or the value itself: softmax does not change when a row is shifted.
Value withoutMaximum(Value value) {
  auto difference = definedBy(value, ElementwiseFn::sub);
  auto top = difference ? rowReduction(difference.getOperands()[1], ReduceKind::max) : std::nullopt;
  bool isOwn = top && isLastAxis(*top) && top->input == difference.getOperands()[0];
  return isOwn ? top->input : value;
}

nn::SoftmaxOp createSoftmax(PatternRewriter &rewriter, Location location, Value x, bool log) {
  auto axis = static_cast<int64_t>(shapeOf(x).size()) - 1;
  return nn::SoftmaxOp::create(rewriter, location, x.getType(), x, rewriter.getI64IntegerAttr(axis),
                               log ? rewriter.getUnitAttr() : UnitAttr());
}

/// exp(x) / sum(exp(x)).
struct RecogniseSoftmax : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    Value exponent =
        op.getFn() == ElementwiseFn::div ? argumentOf(op.getOperands()[0], ElementwiseFn::exp) : Value();
    auto sum = exponent ? rowReduction(op.getOperands()[1], ReduceKind::sum) : std::nullopt;
    if (!sum || !isLastAxis(*sum) || sum->input != op.getOperands()[0])
      return rewriter.notifyMatchFailure(op, "not exponentials over their sum");
    rewriter.replaceOp(op, createSoftmax(rewriter, op.getLoc(), withoutMaximum(exponent), false));
    return success();
  }
};

/// log(softmax(x)).
struct RecogniseLogOfSoftmax : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    Value inner = argumentOf(op.getResult(), ElementwiseFn::log);
    auto softmax = inner ? inner.getDefiningOp<nn::SoftmaxOp>() : nn::SoftmaxOp();
    if (!softmax || softmax.getLog())
      return rewriter.notifyMatchFailure(op, "not the logarithm of a softmax");
    rewriter.replaceOpWithNewOp<nn::SoftmaxOp>(op, op.getType(), softmax.getInput(), softmax.getAxisAttr(),
                                               rewriter.getUnitAttr());
    return success();
  }
};

/// y - log(sum(exp(y))), with y = x or x - max(x).
struct RecogniseLogSoftmax : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    Value total =
        op.getFn() == ElementwiseFn::sub ? argumentOf(op.getOperands()[1], ElementwiseFn::log) : Value();
    auto sum = total ? rowReduction(total, ReduceKind::sum) : std::nullopt;
    bool isOfOwn =
        sum && isLastAxis(*sum) && argumentOf(sum->input, ElementwiseFn::exp) == op.getOperands()[0];
    if (!isOfOwn || op.getOperands()[0].getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "not less the logarithm of its exponentials' sum");
    rewriter.replaceOp(op, createSoftmax(rewriter, op.getLoc(), withoutMaximum(op.getOperands()[0]), true));
    return success();
  }
};

bool holdsMinusInfinity(nn::ConstantOp constant) {
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements || !isa<FloatType>(elements.getElementType()))
    return true;
  return llvm::any_of(elements.getValues<APFloat>(), [](const APFloat &x) { return x.isInfinity(); });
}

/// Whether a value can be -inf for finite weights and activations: a -inf of the graph, or an input, reaches
/// it.
bool canBeMinusInfinity(Value value, int depth = 0) {
  constexpr int maxDepth = 24;
  Operation *op = value.getDefiningOp();
  if (!op || depth == maxDepth)
    return isa<FloatType>(cast<RankedTensorType>(value.getType()).getElementType());
  if (auto constant = dyn_cast<nn::ConstantOp>(op))
    return holdsMinusInfinity(constant);
  if (isa<train::LoadParamOp>(op))
    return true; // a mask may be a large table
  auto elementwise = dyn_cast<nn::ElementwiseOp>(op);
  ElementwiseFn fn = elementwise ? elementwise.getFn() : ElementwiseFn::add;
  bool hasPole = fn == ElementwiseFn::div && !constantOf(elementwise.getOperands()[1]);
  if (fn == ElementwiseFn::log || fn == ElementwiseFn::reciprocal || hasPole)
    return true;
  bool passesOn = isa<nn::ReshapeOp, nn::BroadcastOp, nn::TransposeOp, nn::SliceOp, nn::GatherOp,
                      nn::ConcatOp, nn::PadOp, nn::CastOp, nn::ElementwiseOp>(op);
  if (!passesOn)
    return false;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    bool isFloat = isa<FloatType>(cast<RankedTensorType>(operand.getType()).getElementType());
    return isFloat && canBeMinusInfinity(operand, depth + 1);
  });
}

Value splat(PatternRewriter &rewriter, Location location, Type element, double number) {
  auto type = RankedTensorType::get({}, element);
  auto value = DenseElementsAttr::get(type, rewriter.getFloatAttr(element, number));
  return nn::ConstantOp::create(rewriter, location, type, value);
}

/// Rows whose largest score is -inf, as i1 of extent 1 along the row.
Value deadRows(PatternRewriter &rewriter, Location location, Value scores) {
  auto type = cast<RankedTensorType>(scores.getType());
  int64_t last = type.getRank() - 1;
  auto dropped =
      RankedTensorType::get(type.getShape().drop_back(), type.getElementType(), type.getEncoding());
  SmallVector<int64_t> kept(type.getShape());
  kept.back() = 1;
  auto keptType = RankedTensorType::get(kept, type.getElementType(), type.getEncoding());
  Value top = nn::ReduceOp::create(rewriter, location, dropped, ReduceKind::max, scores,
                                   rewriter.getDenseI64ArrayAttr({last}));
  Value column = nn::ReshapeOp::create(rewriter, location, keptType, top);
  Value lowest = splat(rewriter, location, type.getElementType(), -std::numeric_limits<double>::infinity());
  return nn::ElementwiseOp::create(rewriter, location, keptType.clone(rewriter.getI1Type()),
                                   ElementwiseFn::eq, ValueRange{column, lowest});
}

/// select(is_nan(s), 0, s) of s = softmax(x).
struct RemoveNanGuard : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    if (op.getFn() != ElementwiseFn::select)
      return failure();
    Value guarded = op.getOperands()[2];
    auto softmax = guarded.getDefiningOp<nn::SoftmaxOp>();
    bool isGuard = argumentOf(op.getOperands()[0], ElementwiseFn::is_nan) == guarded &&
                   constantOf(op.getOperands()[1]) == 0.0;
    if (!softmax || softmax.getLog() || !isGuard || softmax.getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "not the guard of a softmax");
    Value scores = softmax.getInput();
    if (!canBeMinusInfinity(scores)) {
      rewriter.replaceOp(op, softmax);
      return success();
    }
    auto last = static_cast<uint64_t>(shapeOf(scores).size() - 1);
    if (softmax.getAxis() != last || isBatchedFrom(scores, static_cast<int64_t>(last)))
      return rewriter.notifyMatchFailure(op, "rows along another axis");
    Location location = op.getLoc();
    Value dead = deadRows(rewriter, location, scores);
    Value zero = op.getOperands()[1];
    auto select = [&](Value otherwise) {
      return nn::ElementwiseOp::create(rewriter, location, op.getType(), ElementwiseFn::select,
                                       ValueRange{dead, zero, otherwise});
    };
    Value live = createSoftmax(rewriter, softmax.getLoc(), select(scores), false);
    rewriter.replaceOp(op, select(live));
    return success();
  }
};

/// A safe softmax of scores that no -inf reaches.
struct RemoveDeadRows : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    auto safe = safeSoftmax(op.getResult());
    if (!safe || safe->scores.getType() != op.getType() || canBeMinusInfinity(safe->scores))
      return rewriter.notifyMatchFailure(op, "not a safe softmax, or one that has to be");
    rewriter.replaceOpWithNewOp<nn::SoftmaxOp>(op, op.getType(), safe->scores, safe->softmax.getAxisAttr(),
                                               UnitAttr());
    return success();
  }
};
} // namespace

void addSoftmaxPatterns(RewritePatternSet &patterns) {
  patterns.add<RecogniseSoftmax, RecogniseLogOfSoftmax, RecogniseLogSoftmax, RemoveNanGuard, RemoveDeadRows>(
      patterns.getContext());
}

} // namespace accum::recognise
