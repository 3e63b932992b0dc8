// SPDX-License-Identifier: Apache-2.0
// Puts norms, activations, logarithms, softmax, cross-entropies and attention back together.
#include "dialects/NN/NNDialect.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "passes/Recognise/Passes.h"
#include "passes/Recognise/Recognisers.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_RECOGNISE
#include "passes/Recognise/Passes.h.inc"

namespace {
struct Recognise : impl::RecogniseBase<Recognise> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
    RewritePatternSet first(&getContext()), patterns(&getContext()), last(&getContext());
    recognise::addBinaryLossPatterns(first);
    recognise::addAttentionPatterns(last);
    recognise::addErrorFunctionPatterns(last);
    recognise::addLogSumExpPatterns(last);
    recognise::addAnglePatterns(last);
    recognise::addSimplifications(patterns);
    recognise::addSplitMergedPatterns(patterns);
    recognise::addNormPatterns(patterns);
    recognise::addActivationPatterns(patterns);
    recognise::addSoftmaxPatterns(patterns);
    recognise::addCrossEntropyPatterns(patterns);
    recognise::addLogarithmPatterns(patterns);
    recognise::addCancellingPatterns(patterns);
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled).enableFolding(false);
    if (failed(applyPatternsGreedily(getOperation(), std::move(first), config)) ||
        failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)) ||
        failed(applyPatternsGreedily(getOperation(), std::move(last), config)))
      signalPassFailure();
  }
};
} // namespace

} // namespace accum
