// SPDX-License-Identifier: Apache-2.0
// Sums of padded values become concatenations.
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"
#include "dialects/NN/PlacementRules.h"
#include "passes/Fuse/Passes.h"
#include "passes/Fuse/RewriteLocally.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_JOINPADS
#include "passes/Fuse/Passes.h.inc"

namespace {

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

/// Terms of a sum that are pads by zeros which nothing else reads; false where there are others.
bool collectPads(Value value, SmallVectorImpl<nn::PadOp> &pads, bool isRoot) {
  if (!isRoot && !value.hasOneUse())
    return false;
  if (auto pad = value.getDefiningOp<nn::PadOp>()) {
    pads.push_back(pad);
    return nn::rule::isZero(pad.getValue());
  }
  auto sum = value.getDefiningOp<nn::ElementwiseOp>();
  return sum && sum.getFn() == nn::ElementwiseFn::add && collectPads(sum.getOperands()[0], pads, false) &&
         collectPads(sum.getOperands()[1], pads, false);
}

/// The one axis along which `pad` pads.
std::optional<int64_t> paddedAxis(nn::PadOp pad) {
  std::optional<int64_t> axis;
  for (auto [i, from, to] : llvm::enumerate(shapeOf(pad.getInput()), shapeOf(pad.getResult()))) {
    if (from == to)
      continue;
    if (axis)
      return std::nullopt;
    axis = static_cast<int64_t>(i);
  }
  return axis;
}

struct JoinPad : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    SmallVector<nn::PadOp> pads;
    if (op.getFn() != nn::ElementwiseFn::add || !collectPads(op.getResult(), pads, /*isRoot=*/true))
      return rewriter.notifyMatchFailure(op, "not a sum of padded values");
    auto axis = paddedAxis(pads.front());
    auto placement = nn::Placement::of(op.getType());
    if (!axis || (placement.isBatched() && placement.dim == *axis))
      return rewriter.notifyMatchFailure(op, "padded along several axes, or the batch");
    llvm::sort(pads, [&](nn::PadOp a, nn::PadOp b) { return a.getLow()[*axis] < b.getLow()[*axis]; });
    int64_t filled = 0;
    SmallVector<Value> parts;
    for (nn::PadOp pad : pads) {
      if (paddedAxis(pad) != axis || pad.getLow()[*axis] != filled)
        return rewriter.notifyMatchFailure(op, "leaves gaps, or overlaps");
      filled += shapeOf(pad.getInput())[*axis];
      parts.push_back(pad.getInput());
    }
    if (filled != shapeOf(op.getResult())[*axis])
      return rewriter.notifyMatchFailure(op, "leaves a gap at the end");
    rewriter.replaceOpWithNewOp<nn::ConcatOp>(op, TypeRange{op.getType()}, parts,
                                              rewriter.getI64IntegerAttr(*axis));
    return success();
  }
};

struct JoinPads : impl::JoinPadsBase<JoinPads> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<JoinPad>(&getContext());
    if (failed(rewriteLocally(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace accum
