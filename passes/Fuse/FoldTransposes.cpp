// SPDX-License-Identifier: Apache-2.0
// Contractions read and write transposed values in place.
#include "dialects/NN/NNDialect.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Fuse/Passes.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_FOLDTRANSPOSES
#include "passes/Fuse/Passes.h.inc"

namespace {

/// transpose(x): axis i of the operand is axis perm[i] of x, so x's letter perm[i] is the operand's letter i.
std::string lettersBefore(nn::TransposeOp transpose, StringRef letters) {
  std::string before(letters.size(), ' ');
  for (auto [i, axis] : llvm::enumerate(transpose.getPerm()))
    before[axis] = letters[i];
  return before;
}

struct ReadTransposed : OpRewritePattern<nn::ContractOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ContractOp op, PatternRewriter &rewriter) const override {
    auto lhs = op.getLhs().getDefiningOp<nn::TransposeOp>();
    auto rhs = op.getRhs().getDefiningOp<nn::TransposeOp>();
    if (!lhs && !rhs)
      return rewriter.notifyMatchFailure(op, "reads no transpose");
    std::string spec = (lhs ? lettersBefore(lhs, op.lhsLetters()) : op.lhsLetters().str()) + "," +
                       (rhs ? lettersBefore(rhs, op.rhsLetters()) : op.rhsLetters().str()) + "->" +
                       op.resultLetters().str();
    rewriter.modifyOpInPlace(op, [&] {
      op.setSpec(spec);
      op.getLhsMutable().assign(lhs ? lhs.getInput() : op.getLhs());
      op.getRhsMutable().assign(rhs ? rhs.getInput() : op.getRhs());
    });
    return success();
  }
};

struct WriteTransposed : OpRewritePattern<nn::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::TransposeOp op, PatternRewriter &rewriter) const override {
    auto contract = op.getInput().getDefiningOp<nn::ContractOp>();
    if (!contract || !contract->hasOneUse())
      return rewriter.notifyMatchFailure(op, "reads no contraction of its own");
    std::string result;
    for (int64_t axis : op.getPerm())
      result += contract.resultLetters()[axis];
    std::string spec = contract.lhsLetters().str() + "," + contract.rhsLetters().str() + "->" + result;
    rewriter.setInsertionPoint(contract);
    auto direct = nn::ContractOp::create(rewriter, contract.getLoc(), op.getType(), contract.getLhs(),
                                         contract.getRhs(), spec);
    rewriter.replaceOp(op, direct.getResult());
    return success();
  }
};

struct FoldTransposes : impl::FoldTransposesBase<FoldTransposes> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ReadTransposed, WriteTransposed>(&getContext());
    // Constants stay where they are: regions of a step are not isolated from the pass's view of folding.
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    config.enableConstantCSE(false);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
} // namespace accum
