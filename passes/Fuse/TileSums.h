// SPDX-License-Identifier: Apache-2.0
// Column sums, as sums of tiles of rows, in the kernels that compute or read these rows.
#pragma once

#include "passes/Fuse/Groups.h"

namespace accum {

/// A column sum (bias and norm weight gradients) whose rows a row kernel writes or reads anyway is cut in
/// two: that kernel also adds up tiles of consecutive rows, and what is left is a sum over the tiles.
/// `leaders`: the column sum that an op runs with. Ops of `block` are in the groups' order.
void tileColumnSums(mlir::Block &block, const llvm::DenseMap<mlir::Operation *, mlir::Operation *> &leaders,
                    std::vector<Group> &groups);

} // namespace accum
