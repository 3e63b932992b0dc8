// SPDX-License-Identifier: Apache-2.0
// One model at several sizes of a dimension: what the modules have in common before they are planned.
#pragma once

#include "compiler/Driver/LengthData.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Lengths/CheckPadding.h"

namespace accum::driver {

/// Random numbers of all sizes are those of the largest: keyed by each sample's position, which becomes an
/// input of the model, and by elements as the largest size numbers them. `sizes` are checked, ascending.
/// Fails with a diagnostic where they do not draw alike.
mlir::LogicalResult keyDraws(mlir::ArrayRef<mlir::ModuleOp> sizes);

/// Says of the model's inputs what a run writes after a sample's end; `dim` is the dimension's number. Fails
/// with a diagnostic where an input does not have one row a sample on its first axis, or several axes that
/// are padded.
mlir::LogicalResult notePadding(mlir::ModuleOp module, mlir::ArrayRef<PaddedInput> inputs, int64_t dim);

/// The same inputs by name, for whoever reads data.
std::vector<LengthInput> lengthInputs(mlir::ModuleOp module, mlir::ArrayRef<PaddedInput> inputs);

} // namespace accum::driver
