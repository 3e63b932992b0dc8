// SPDX-License-Identifier: Apache-2.0
// What attention takes in without copies: heads that are repeated for a group, and triangles in masks.
#include "passes/Recognise/AttentionMask.h"
#include "passes/Recognise/Recognisers.h"
#include "passes/Recognise/Terms.h"

using namespace mlir;

namespace accum::recognise {
namespace {

Attribute encodingOf(Value value) { return cast<RankedTensorType>(value.getType()).getEncoding(); }

/// x as [b, g, 1, k, d], of [b, g r, k, d] with each head r times: reshape(broadcast(x)). Null for anything
/// else.
Value underRepeatedHeads(Value value) {
  auto merge = value.getDefiningOp<nn::ReshapeOp>();
  auto spread = merge ? merge.getInput().getDefiningOp<nn::BroadcastOp>() : nn::BroadcastOp();
  if (!spread || shapeOf(spread.getInput()).size() != 5 || encodingOf(spread.getInput()) != encodingOf(value))
    return {};
  ArrayRef<int64_t> from = shapeOf(spread.getInput()), to = shapeOf(spread.getResult()),
                    merged = shapeOf(value);
  bool isSpread =
      from[2] == 1 && from.take_front(2) == to.take_front(2) && from.drop_front(3) == to.drop_front(3);
  bool isMerged =
      merged[0] == to[0] && merged[1] == to[1] * to[2] && merged.drop_front(2) == to.drop_front(3);
  return isSpread && isMerged ? spread.getInput() : Value();
}

/// [b, g, 1, k, d] as [b, g, k, d].
Value withoutRepeats(PatternRewriter &rewriter, Value ones) {
  SmallVector<int64_t> shape(shapeOf(ones));
  shape.erase(shape.begin() + 2);
  auto element = cast<RankedTensorType>(ones.getType()).getElementType();
  auto type = RankedTensorType::get(shape, element, encodingOf(ones));
  if (auto inner = ones.getDefiningOp<nn::ReshapeOp>(); inner && inner.getInput().getType() == type)
    return inner.getInput();
  return nn::ReshapeOp::create(rewriter, ones.getLoc(), type, ones);
}

/// Keys and values with each head as often as a group has queries.
struct ReadHeadsOnce : OpRewritePattern<nn::AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::AttentionOp op, PatternRewriter &rewriter) const override {
    Value key = underRepeatedHeads(op.getKey()), value = underRepeatedHeads(op.getValue());
    if (!key || !value || shapeOf(key)[1] != shapeOf(value)[1])
      return rewriter.notifyMatchFailure(op, "keys and values are not repeated alike");
    Value once[] = {withoutRepeats(rewriter, key), withoutRepeats(rewriter, value)};
    rewriter.modifyOpInPlace(op, [&] {
      op.getKeyMutable().assign(once[0]);
      op.getValueMutable().assign(once[1]);
    });
    return success();
  }
};

/// A mask that is a triangle, alone or together with other conditions.
struct ReadTriangle : OpRewritePattern<nn::AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::AttentionOp op, PatternRewriter &rewriter) const override {
    Value mask = op.getMask();
    if (!mask || !cast<RankedTensorType>(mask.getType()).getElementType().isInteger(1))
      return rewriter.notifyMatchFailure(op, "no mask of conditions");
    Visibility visible;
    visible.require(mask, /*negated=*/false);
    if (!visible.resolve() || !visible.takeCausal())
      return rewriter.notifyMatchFailure(op, "no triangle in the mask");
    Value rest = visible.build(rewriter, op.getLoc());
    if (rest && shapeOf(rest).size() != 4) {
      SmallVector<int64_t> shape(shapeOf(rest));
      shape.insert(shape.begin(), 4 - shape.size(), 1);
      rest = nn::ReshapeOp::create(rewriter, op.getLoc(), RankedTensorType::get(shape, rewriter.getI1Type()),
                                   rest);
    }
    rewriter.modifyOpInPlace(op, [&] {
      op.getMaskMutable().assign(rest ? ValueRange(rest) : ValueRange());
      op.setCausal(true);
    });
    return success();
  }
};
} // namespace

void addAttentionOperandPatterns(RewritePatternSet &patterns) {
  patterns.add<ReadHeadsOnce, ReadTriangle>(patterns.getContext());
}

} // namespace accum::recognise
