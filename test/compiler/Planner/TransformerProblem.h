// SPDX-License-Identifier: Apache-2.0
// Synthetic training steps of decoder-only transformers, for tests and benchmarks of the planner.
#pragma once
#include "compiler/Planner/Problem/Problem.h"
#include "compiler/Planner/Time/DeviceProfile.h"

namespace accum::planner {

struct TransformerShape {
  int layers = 12;
  int64_t hidden = 768, heads = 12, sequence = 1024, vocabulary = 50257;
  /// Elementwise commands per layer and direction beside the fused ones: how far from fused the command list
  /// is.
  int extraCommands = 0;
  bool mixedPrecision = true; ///< bf16 activations, f32 master weights and gradients; else all f32
  bool copies = false; ///< with it: bf16 weights are values of the step, made of f32 ones, one per layer
};

/// Forward, backward and AdamW update, with the saved activations of a layer that keeps all it needs.
Problem transformerProblem(const TransformerShape &shape);

/// The built-in profile.
inline DeviceProfile h100() { return *loadProfile("h100"); }

inline TransformerShape gpt2Small() { return {}; }
/// The one of tiny-transformer.txt.
inline TransformerShape tinyTransformer() {
  return {.layers = 2, .hidden = 64, .heads = 2, .sequence = 32, .vocabulary = 101, .mixedPrecision = false};
}
inline TransformerShape gpt3Largest() { return {96, 12288, 96, 2048, 50257, 12, true}; }

} // namespace accum::planner
