// SPDX-License-Identifier: Apache-2.0
// Contractions read and write transposed values in place.
#include "dialects/NN/NNDialect.h"
#include "dialects/Train/GemmShape.h"
#include "passes/Fuse/Passes.h"
#include "passes/Fuse/RewriteLocally.h"

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

/// A contraction that reads or writes in place: its operands, result and letters then.
struct Folded {
  Value lhs, rhs;
  Type result;
  std::string spec;
};

Folded fold(nn::ContractOp op, nn::TransposeOp lhs, nn::TransposeOp rhs) {
  std::string spec = (lhs ? lettersBefore(lhs, op.lhsLetters()) : op.lhsLetters().str()) + "," +
                     (rhs ? lettersBefore(rhs, op.rhsLetters()) : op.rhsLetters().str()) + "->" +
                     op.resultLetters().str();
  return {lhs ? lhs.getInput() : op.getLhs(), rhs ? rhs.getInput() : op.getRhs(), op.getType(), spec};
}

void assign(nn::ContractOp op, const Folded &folded) {
  op.setSpec(folded.spec);
  op.getLhsMutable().assign(folded.lhs);
  op.getRhsMutable().assign(folded.rhs);
  op.getResult().setType(cast<RankedTensorType>(folded.result));
}

/// A product for the library must stay one: where axes no longer lie beside each other, the copy is cheaper
/// than loops.
bool losesProduct(nn::ContractOp op, const Folded &folded) {
  if (!analyseGemm(op))
    return false;
  nn::ContractOp tried = op.clone();
  assign(tried, folded);
  bool loses = !analyseGemm(tried);
  tried->destroy();
  return loses;
}

struct ReadTransposed : OpRewritePattern<nn::ContractOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ContractOp op, PatternRewriter &rewriter) const override {
    auto lhs = op.getLhs().getDefiningOp<nn::TransposeOp>();
    auto rhs = op.getRhs().getDefiningOp<nn::TransposeOp>();
    using Choice = std::pair<nn::TransposeOp, nn::TransposeOp>;
    for (auto [left, right] : {Choice(lhs, rhs), Choice(lhs, {}), Choice({}, rhs)}) {
      if (!left && !right)
        continue;
      Folded folded = fold(op, left, right);
      if (losesProduct(op, folded))
        continue;
      rewriter.modifyOpInPlace(op, [&] { assign(op, folded); });
      return success();
    }
    return rewriter.notifyMatchFailure(op, "reads no transpose that could go");
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
    if (losesProduct(contract, {contract.getLhs(), contract.getRhs(), op.getType(), spec}))
      return rewriter.notifyMatchFailure(op, "would take the matrix product apart");
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
    if (failed(rewriteLocally(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace accum
