// SPDX-License-Identifier: Apache-2.0
// Double-buffered tiles: the next one is loaded while the current one is used.
#pragma once

#include "passes/Codegen/Cuda/ThreadCode.h"

namespace accum::codegen {

/// Two stages of shared memory: a round works on one of them while the next tile is copied to the other one.
/// Or one, which each round waits for. What is carried from round to round begins with two numbers: the stage
/// whose turn it is, and the first row of what was last loaded to it.
class TileStream {
public:
  using Value = mlir::Value;
  /// Begins to load the rows from `first` on to a stage.
  using Load = llvm::function_ref<void(Value stage, Value first)>;
  /// Changes what this thread has loaded to a stage, before others see it.
  using Arrived = llvm::function_ref<void(Value stage)>;
  /// Gets the stage and what else is carried.
  using Work = ThreadCode::Round;

  /// Tiles of `step` of the rows below `end`.
  TileStream(ThreadCode &code, int64_t step, int64_t end, int64_t stages = 2)
      : c(code), step(step), end(end), stages(stages) {}

  /// What is carried to the first round.
  Values start(mlir::ValueRange state);
  /// What is carried where other tensors begin to stream by.
  Values restart(mlir::ValueRange carried);
  /// What is carried but for the stream's own.
  static mlir::ValueRange rest(mlir::ValueRange carried) { return carried.drop_front(kOwn); }

  /// A round for the rows from `first` on. They were loaded in the round before if that was for their
  /// neighbours, and are now if not. Threads meet once, before the work: none of them is still at the round
  /// before, and all that was loaded is there.
  Values round(Value first, mlir::ValueRange carried, Load load, Arrived arrived, Work work);

private:
  static constexpr size_t kOwn = 2;
  Values roundOfOne(Value first, mlir::ValueRange carried, Load load, Arrived arrived, Work work);

  ThreadCode &c;
  const int64_t step, end, stages;
};

} // namespace accum::codegen
