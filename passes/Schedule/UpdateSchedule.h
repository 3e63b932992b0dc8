// SPDX-License-Identifier: Apache-2.0
// Which results of the update are written straight into the state.
#pragma once

#include "passes/Schedule/ProgramBuffers.h"

namespace accum {

/// Where `store` writes.
Place storePlace(train::StoreOp store, const ProgramBuffers &buffers);

/// Places every result that is stored right where it is produced, if that is its first store and nothing
/// needs what it overwrites: the results of the optimizer's kernels. `copies` are the other stores. Fails,
/// with a diagnostic, where a value of the state is read after it was overwritten.
mlir::LogicalResult placeStores(mlir::Block &update, ProgramBuffers &buffers,
                                llvm::DenseSet<mlir::Operation *> &copies);

} // namespace accum
