// SPDX-License-Identifier: Apache-2.0
// The spare rows of a ragged micro-step, and the number of samples.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace accum {

/// Adds the arguments `valid` (i1, one per sample) and `first_row` (i64, place of the first sample in the
/// global batch). Returns `valid`.
mlir::Value addRowArguments(mlir::func::FuncOp forward);

/// Adds the argument with the position of each sample in the global batch, before those, where it is not
/// there. Requires: those are there.
mlir::Value addPositionArgument(mlir::func::FuncOp forward);

/// Replaces nn.batch_size by the total of the valid rows. Returns it, null where nothing needs it.
mlir::Value countSamples(mlir::func::FuncOp forward, mlir::Value valid);

/// Puts nn.mask_rows before every sum over the batch axis: spare rows repeat a real sample and must not
/// count. Their cotangents are zero then, so that sums of the backward pass need no mask. Requires:
/// everything is placed. Returns the number of sums.
unsigned maskRows(mlir::func::FuncOp forward, mlir::Value valid);

} // namespace accum
