// SPDX-License-Identifier: Apache-2.0
// Which ops around an attention run with it, as offsets and strides of its operands.
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/Support/LLVM.h"

namespace accum {

/// Constant masks get a command that writes them: a library reads memory only.
void materialiseMasks(mlir::Block &block);

/// Gives each attention of the block slices, transposes and reshapes of its own where they can be read in
/// place, and adds these and the ops through which its results can be written in place to `leaders`: from an
/// op to the attention that it runs with.
void claimViews(mlir::Block &block, mlir::DenseMap<mlir::Operation *, mlir::Operation *> &leaders);

} // namespace accum
