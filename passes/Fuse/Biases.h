// SPDX-License-Identifier: Apache-2.0
// Which products add a bias while they are written.
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/Support/LLVM.h"

namespace accum {

/// Adds to `leaders` products of the block, with the sums that add a parameter to each of their rows and the
/// views between, where nobody needs the bare product: from each of these ops to the product. `onlyOfLosses`:
/// where the sums are the logits of a cross-entropy.
void claimBiases(mlir::Block &block, bool onlyOfLosses,
                 mlir::DenseMap<mlir::Operation *, mlir::Operation *> &leaders);

} // namespace accum
