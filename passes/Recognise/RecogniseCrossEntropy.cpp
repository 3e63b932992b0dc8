// SPDX-License-Identifier: Apache-2.0
// Cross-entropy from log-probabilities read at the labels.
#include "passes/Recognise/Recognisers.h"
#include "passes/Recognise/Terms.h"

using namespace mlir;

namespace accum::recognise {
namespace {
using nn::ElementwiseFn;

/// Scalar of an integer type.
Value integer(PatternRewriter &rewriter, Location location, Type element, int64_t number) {
  auto type = RankedTensorType::get({}, element);
  return nn::ConstantOp::create(rewriter, location, type,
                                DenseElementsAttr::get(type, rewriter.getIntegerAttr(element, number)));
}

/// A gather counts negative indices from the end; a label does not.
Value withoutNegatives(PatternRewriter &rewriter, Location location, Value labels, int64_t classes) {
  auto type = cast<RankedTensorType>(labels.getType());
  auto create = [&](Type result, ElementwiseFn fn, ValueRange operands) -> Value {
    return nn::ElementwiseOp::create(rewriter, location, result, fn, operands);
  };
  Value zero = integer(rewriter, location, type.getElementType(), 0);
  Value count = integer(rewriter, location, type.getElementType(), classes);
  Value isNegative = create(type.clone(rewriter.getI1Type()), ElementwiseFn::lt, {labels, zero});
  Value wrapped = create(type, ElementwiseFn::add, {labels, count});
  return create(type, ElementwiseFn::select, {isNegative, wrapped, labels});
}

/// x of log_softmax(x) over the last axis; null for anything else.
Value logitsOf(Value value) {
  auto softmax = value.getDefiningOp<nn::SoftmaxOp>();
  auto last = static_cast<int64_t>(shapeOf(value).size()) - 1;
  bool isOfRows = softmax && softmax.getLog() && static_cast<int64_t>(softmax.getAxis()) == last;
  return isOfRows && !isBatchedFrom(value, last) ? softmax.getInput() : Value();
}

/// Replaces `op`, whose elements are the log-probabilities at `labels`, by minus the cross-entropy of
/// `logits`.
void replaceByCrossEntropy(Operation *op, Value logits, Value labels, PatternRewriter &rewriter) {
  Location location = op->getLoc();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  ArrayRef<int64_t> shape = shapeOf(logits);
  auto rows = RankedTensorType::get(shape.drop_back(), type.getElementType(), type.getEncoding());
  Type labelType = rows.clone(cast<RankedTensorType>(labels.getType()).getElementType());
  if (labels.getType() != labelType)
    labels = nn::ReshapeOp::create(rewriter, location, labelType, labels);
  labels = withoutNegatives(rewriter, location, labels, shape.back());
  auto loss =
      nn::CrossEntropyOp::create(rewriter, location, TypeRange{rows, rows}, logits, labels, IntegerAttr());
  Value picked =
      nn::ElementwiseOp::create(rewriter, location, rows, ElementwiseFn::neg, ValueRange{loss.getLoss()});
  if (picked.getType() != type)
    picked = nn::ReshapeOp::create(rewriter, location, type, picked);
  rewriter.replaceOp(op, picked);
}

/// One element of each row of log_softmax(x), the labels being a column.
struct RecogniseCrossEntropy : OpRewritePattern<nn::GatherElementsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::GatherElementsOp op, PatternRewriter &rewriter) const override {
    Value logits = logitsOf(op.getInput());
    SmallVector<int64_t> column(shapeOf(op.getInput()));
    column.back() = 1;
    if (!logits || op.getAxis() + 1 != column.size() || shapeOf(op.getIndices()) != ArrayRef(column) ||
        batchAxesOf(op.getIndices()) != batchAxesOf(op.getInput()))
      return rewriter.notifyMatchFailure(op, "not one label for each row of log-probabilities");
    replaceByCrossEntropy(op, logits, op.getIndices(), rewriter);
    return success();
  }
};

/// The same, read by index: log_softmax(x)[i, label[i]].
struct RecogniseIndexedCrossEntropy : OpRewritePattern<nn::GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::GatherOp op, PatternRewriter &rewriter) const override {
    Value logits = logitsOf(op.getInput());
    ArrayRef<int64_t> rows = shapeOf(op.getInput()).drop_back();
    if (!logits || op.getAxis() != rows.size() || op.getBatchDims() != rows.size() ||
        shapeOf(op.getIndices()) != rows || batchAxesOf(op.getIndices()) != batchAxesOf(op.getInput()))
      return rewriter.notifyMatchFailure(op, "not one label for each row of log-probabilities");
    replaceByCrossEntropy(op, logits, op.getIndices(), rewriter);
    return success();
  }
};

/// -(-x), also with a change of shape between, which the recognised losses leave.
struct RemoveDoubleNegation : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    Value inner = argumentOf(op.getResult(), ElementwiseFn::neg);
    auto reshape = inner ? inner.getDefiningOp<nn::ReshapeOp>() : nn::ReshapeOp();
    Value x = inner ? argumentOf(reshape ? reshape.getInput() : inner, ElementwiseFn::neg) : Value();
    if (!x)
      return rewriter.notifyMatchFailure(op, "not negated twice");
    if (x.getType() == op.getType())
      rewriter.replaceOp(op, x);
    else
      rewriter.replaceOpWithNewOp<nn::ReshapeOp>(op, op.getType(), x);
    return success();
  }
};
} // namespace

void addCrossEntropyPatterns(RewritePatternSet &patterns) {
  patterns.add<RecogniseCrossEntropy, RecogniseIndexedCrossEntropy, RemoveDoubleNegation>(
      patterns.getContext());
}

} // namespace accum::recognise
