// SPDX-License-Identifier: Apache-2.0
// A graph in two parts, put together where its samples meet.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace accum {

/// Places every argument of `whole` as the whole batch.
void placeWhole(mlir::func::FuncOp whole);

/// Appends `whole`, which computes the loss of `batch` samples from what `forward` returns, to that, and
/// erases it. What is batched becomes rows of a sum over the samples, in which each sample has a place of its
/// own; a sum over the samples becomes its total; both are nn.total with nn.cut. `firstRow` is forward's
/// argument; `positions`, too, where micro-steps do not have samples that follow each other, null otherwise.
/// Requires: everything is placed, but for row masks.
void joinWhole(mlir::func::FuncOp forward, mlir::func::FuncOp whole, int64_t batch, mlir::Value firstRow,
               mlir::Value positions);

} // namespace accum
