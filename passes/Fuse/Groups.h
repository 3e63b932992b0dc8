// SPDX-License-Identifier: Apache-2.0
// Which ops of a region run in one command.
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

namespace accum {

using Group = mlir::SmallVector<mlir::Operation *>;

/// Ops that become commands: what computes or moves data. Not constants, loads, stores, views, yields.
bool isCommandOp(mlir::Operation *op);

/// What the loss needs: everything that leads to a named scalar of a loop's yield.
llvm::SetVector<mlir::Operation *> forwardOps(mlir::Block &block);

/// Of a block, last first.
void eraseDeadOps(mlir::Block &block);

/// One op, one group.
std::vector<Group> singleGroups(mlir::Block &block);

/// What a target's kernels and library calls do in one go.
struct FusedForms {
  bool biases = false; ///< products are written with biases; else those that a loss reads
  bool tiles = false;  ///< row kernels add up tiles of rows for column sums
};

/// Elementwise chains and row reductions over the same rows in one group each; everything else alone, but for
/// what `forms` say.
std::vector<Group> fusedGroups(mlir::Block &block, FusedForms forms);

} // namespace accum
