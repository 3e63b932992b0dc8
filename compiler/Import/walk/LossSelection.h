// SPDX-License-Identifier: Apache-2.0
// Which loss is trained: an output of the graph, or a convention on an output.
#pragma once
#include "compiler/Import/Import.h"
#include "compiler/Import/walk/GraphValue.h"

namespace accum::import {

struct LossChoice {
  enum class Kind { Output, CrossEntropy, CausalLm, NextToken, Mse, Bce, Undecided };
  Kind kind = Kind::Output;
  std::string output; ///< that is the loss, or that the convention reads
};

/// Reads `option` (see ImportOptions::loss) against the outputs of the graph. Undecided: logits without a
/// loss, next-token where attention turns out to be causal, else cross-entropy.
Result<LossChoice> chooseLoss(const Graph &graph, const std::string &option);
/// "cross-entropy", ... as on the command line; "output" for an output of the graph.
std::string_view name(LossChoice::Kind kind);

/// Makes an argument of @forward.
using NewInput =
    llvm::function_ref<mlir::Value(const std::string &name, llvm::ArrayRef<Extent> shape, DType)>;
/// What the convention computes on `scores`, a scalar. `tokens`: the value of `input_ids`, or null.
mlir::Value emitLoss(Emitter &emit, LossChoice::Kind kind, mlir::Value scores, mlir::Value tokens,
                     NewInput newInput);
/// Fills the report's sentences about the loss.
void reportLoss(const LossChoice &choice, bool causal, const Shape &scores, ImportReport &report);
/// Says so where a convention that takes logits is put on probabilities.
std::optional<std::string> noteProbabilities(const Graph &graph, const ImportReport &report);

} // namespace accum::import
