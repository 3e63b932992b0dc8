// SPDX-License-Identifier: Apache-2.0
// Threads of a GPU that compute the same elements together: what CUDA calls a cooperative group.
#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace accum::codegen {

/// Code outside of per-thread scopes is run by all threads of a team with the same values. A reduction there
/// is shared: thread `rank` takes the terms rank, rank + size, rank + 2 size, ... and `combine` gives every
/// thread the same bits. The order of terms depends on the kernel alone, never on how threads happen to run.
class Team {
public:
  using Combine = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;

  virtual ~Team() = default;
  /// The team's threads' values made one, in all of them. All threads of the team get here together.
  virtual mlir::Value combine(mlir::ImplicitLocOpBuilder &builder, mlir::Value value, Combine combine) = 0;

  /// Lists what the threads found, one behind the other: by threads, and those of a thread from the lowest
  /// bit of its `bits` (an i32) on. `number`: the i32 that is listed for a bit. How many there are (i64); all
  /// of the team get here together, again where the list is given up, and there are `most` of a thread. Only
  /// of a block.
  virtual mlir::Value list(mlir::ImplicitLocOpBuilder &builder, mlir::Value bits, int64_t most,
                           llvm::function_ref<mlir::Value(mlir::Value bit)> number) {
    llvm_unreachable("only blocks have lists");
  }
  /// An entry of the list (i64).
  virtual mlir::Value listed(mlir::ImplicitLocOpBuilder &builder, mlir::Value place) {
    llvm_unreachable("only blocks have lists");
  }
  virtual void giveUpList(mlir::ImplicitLocOpBuilder &builder) { llvm_unreachable("only blocks have lists"); }

  mlir::Value rank;   ///< i64, 0 <= rank < size, known at the kernel's entry
  int64_t size = 1;   ///< threads
  mlir::Value leader; ///< i1: the thread that writes what the team computed
};

} // namespace accum::codegen
