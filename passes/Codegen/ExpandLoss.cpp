// SPDX-License-Identifier: Apache-2.0
// Cross-entropy as elementwise ops and reductions.
#include "passes/Codegen/Expand.h"

using namespace mlir;

namespace accum::codegen {

using nn::ElementwiseFn;
using nn::ReduceKind;

namespace {

/// `value` with one more axis of one element.
Value asColumn(Tensors &t, Value value) {
  SmallVector<int64_t> shape(cast<RankedTensorType>(value.getType()).getShape());
  shape.push_back(1);
  return t.reshape(value, shape);
}

/// `value`, but 0 where the label is the ignored one.
Value withoutIgnored(Tensors &t, Value labels, std::optional<int64_t> ignored, Value value) {
  if (!ignored)
    return value;
  Value skip = t.apply(ElementwiseFn::eq, {labels, t.constant(labels, static_cast<double>(*ignored))});
  return t.apply(ElementwiseFn::select, {skip, t.constant(value, 0), value});
}

std::optional<int64_t> ignoredIndex(IntegerAttr attribute) {
  return attribute ? std::optional(attribute.getInt()) : std::nullopt;
}

struct ExpandCrossEntropy : OpRewritePattern<nn::CrossEntropyOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::CrossEntropyOp op, PatternRewriter &rewriter) const override {
    Tensors t{{op.getLoc(), rewriter}};
    Value logits = op.getLogits(), labels = op.getLabels();
    auto type = cast<RankedTensorType>(logits.getType());
    int64_t classes = type.getRank() - 1;
    Value largest = t.reduce(ReduceKind::max, logits, classes);
    Value sum = t.reduce(ReduceKind::sum, t.exp(t.sub(logits, largest)), classes);
    ArrayRef<int64_t> rows = type.getShape().drop_back();
    Value lse = t.reshape(t.add(largest, t.apply(ElementwiseFn::log, sum)), rows);
    Value column = asColumn(t, labels);
    auto pickedType =
        RankedTensorType::get(cast<RankedTensorType>(column.getType()).getShape(), type.getElementType());
    Value picked = nn::GatherElementsOp::create(t.builder, pickedType, logits, column, classes);
    Value loss = t.sub(lse, t.reshape(picked, rows));
    rewriter.replaceOp(op, {withoutIgnored(t, labels, ignoredIndex(op.getIgnoreIndexAttr()), loss), lse});
    return success();
  }
};

struct ExpandCrossEntropyGrad : OpRewritePattern<nn::CrossEntropyGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::CrossEntropyGradOp op, PatternRewriter &rewriter) const override {
    Tensors t{{op.getLoc(), rewriter}};
    Value logits = op.getLogits(), labels = asColumn(t, op.getLabels());
    auto type = cast<RankedTensorType>(logits.getType());
    Type index = cast<RankedTensorType>(labels.getType()).getElementType();
    Value classes = nn::IotaOp::create(t.builder, RankedTensorType::get(type.getShape().back(), index), 0);
    Value hit = t.apply(ElementwiseFn::eq, {classes, labels});
    Value probability = t.exp(t.sub(logits, asColumn(t, op.getLse())));
    Value one = t.constant(logits, 1);
    Value slope = t.apply(ElementwiseFn::select, {hit, t.sub(probability, one), probability});
    Value gradient = t.mul(slope, asColumn(t, op.getDloss()));
    rewriter.replaceOp(op, withoutIgnored(t, labels, ignoredIndex(op.getIgnoreIndexAttr()), gradient));
    return success();
  }
};

} // namespace

void addLossExpansions(RewritePatternSet &patterns) {
  patterns.add<ExpandCrossEntropy, ExpandCrossEntropyGrad>(patterns.getContext());
}

} // namespace accum::codegen
