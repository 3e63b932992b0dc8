// SPDX-License-Identifier: Apache-2.0
// Views come before elementwise ops instead of behind them.
#include "dialects/NN/Boundary.h"
#include "dialects/NN/Placement.h"
#include "dialects/NN/Views.h"
#include "passes/Fuse/Passes.h"
#include "passes/Fuse/RewriteLocally.h"
#include "passes/Fuse/RowSpace.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_HOISTRESHAPES
#include "passes/Fuse/Passes.h.inc"

namespace {

/// Read the same way under any leading axes: scalars and vectors along the last axis. Samples are no such
/// vector: a view may give them another axis.
bool isAlongLastAxis(Value value) {
  return nn::tensorType(value).getRank() <= 1 && !nn::Placement::of(value.getType()).isBatched();
}

/// Read through by the kernel of their users, unless a view comes between.
bool isReadThrough(Value value) { return value.getDefiningOp() && isDataMovement(value.getDefiningOp()); }

struct HoistReshape : OpRewritePattern<nn::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ReshapeOp op, PatternRewriter &rewriter) const override {
    auto source = op.getInput().getDefiningOp<nn::ElementwiseOp>();
    if (!source || !source->hasOneUse() || nn::isBoundary(op))
      return rewriter.notifyMatchFailure(op, "reads no elementwise op of its own");
    RankedTensorType from = nn::tensorType(source.getResult()), to = nn::tensorType(op.getResult());
    if (from.getRank() < 2 || to.getRank() < 2 || from.getShape().back() != to.getShape().back())
      return rewriter.notifyMatchFailure(op, "changes the last axis");
    for (Value operand : source.getOperands())
      if (isReadThrough(operand))
        return rewriter.notifyMatchFailure(op, "an operand only moves data");
      else if (!isAlongLastAxis(operand) && (nn::tensorType(operand).getShape() != from.getShape() ||
                                             nn::tensorType(operand).getEncoding() != from.getEncoding()))
        return rewriter.notifyMatchFailure(op, "an operand is broadcast over a leading axis");
    SmallVector<Value> operands;
    for (Value operand : source.getOperands()) {
      auto type = nn::withEncoding(
          RankedTensorType::get(to.getShape(), nn::tensorType(operand).getElementType()), to.getEncoding());
      operands.push_back(isAlongLastAxis(operand)
                             ? operand
                             : nn::ReshapeOp::create(rewriter, op.getLoc(), type, operand).getResult());
    }
    rewriter.replaceOp(op, nn::ElementwiseOp::create(rewriter, source.getLoc(), TypeRange{to},
                                                     source.getFnAttr(), operands));
    return success();
  }
};

/// reshape(reshape(x)): views of views keep ops from seeing that they read the same thing.
struct MergeReshapes : OpRewritePattern<nn::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ReshapeOp op, PatternRewriter &rewriter) const override {
    auto source = op.getInput().getDefiningOp<nn::ReshapeOp>();
    if (!source || nn::isBoundary(source))
      return rewriter.notifyMatchFailure(op, "reads no reshape of the same kind");
    if (source.getInput().getType() == op.getType())
      rewriter.replaceOp(op, source.getInput());
    else
      rewriter.modifyOpInPlace(op, [&] { op.getInputMutable().assign(source.getInput()); });
    return success();
  }
};

struct HoistReshapes : impl::HoistReshapesBase<HoistReshapes> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<HoistReshape, MergeReshapes>(&getContext());
    if (failed(rewriteLocally(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace accum
