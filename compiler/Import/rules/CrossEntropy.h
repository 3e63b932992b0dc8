// SPDX-License-Identifier: Apache-2.0
// Losses that are emitted both for nodes of the graph and for a graph that ends in logits.
#pragma once
#include "compiler/Import/walk/Emitter.h"

namespace accum::import {

enum class LossReduction { None, Sum, Mean };

/// Negative log likelihood of the labels: `rows` are those of a cross-entropy or of gathered log
/// probabilities.
struct LossTerms {
  mlir::Value rows;     ///< labels' shape; 0 where ignored
  mlir::Value labels;   ///< integers
  mlir::Value weights;  ///< class weights [C], or null
  mlir::Value smooth;   ///< mean over classes of -log softmax times the class's weight, or null
  double smoothing = 0; ///< the part of the loss that `smooth` is
  std::optional<int64_t> ignored;
};

/// Applies class weights and reduces; the mean is over the labels that are not ignored, or their weights.
mlir::Value reduceLoss(Emitter &emit, const LossTerms &terms, LossReduction reduction);

/// -log softmax(logits)[label] for classes on the last axis.
nn::CrossEntropyOp crossEntropyRows(Emitter &emit, mlir::Value logits, mlir::Value labels,
                                    std::optional<int64_t> ignored);

} // namespace accum::import
