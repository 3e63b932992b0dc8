// SPDX-License-Identifier: Apache-2.0
// The patterns of accum-recognise, by what they make.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace accum::recognise {

void addSimplifications(mlir::RewritePatternSet &patterns);
/// Products and softmax on axes that were joined, on the axes apart.
void addSplitMergedPatterns(mlir::RewritePatternSet &patterns);
void addNormPatterns(mlir::RewritePatternSet &patterns);
void addActivationPatterns(mlir::RewritePatternSet &patterns);
void addSoftmaxPatterns(mlir::RewritePatternSet &patterns);
/// Logarithms and exponentials that lose digits as they are written.
void addLogarithmPatterns(mlir::RewritePatternSet &patterns);
/// Binary cross-entropy of probabilities. To be applied before the logarithms are.
void addBinaryLossPatterns(mlir::RewritePatternSet &patterns);
/// Binary cross-entropy of logits, whose terms cancel.
void addCancellingPatterns(mlir::RewritePatternSet &patterns);
void addCrossEntropyPatterns(mlir::RewritePatternSet &patterns);
/// 1 - erf(x) and 1 + erf(x), whose digits are gone in the tail. To be applied after the others: GELU has
/// them too.
void addErrorFunctionPatterns(mlir::RewritePatternSet &patterns);
/// log(sum(exp(x))) and its running form. To be applied after the others: log-softmax has it too.
void addLogSumExpPatterns(mlir::RewritePatternSet &patterns);
/// atan2 as exporters write it.
void addAnglePatterns(mlir::RewritePatternSet &patterns);
/// To be applied behind the others, which compute scales and bring softmax into one form.
void addAttentionPatterns(mlir::RewritePatternSet &patterns);
void addAttentionOperandPatterns(mlir::RewritePatternSet &patterns);

} // namespace accum::recognise
