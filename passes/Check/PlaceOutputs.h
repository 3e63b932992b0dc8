// SPDX-License-Identifier: Apache-2.0
// Outputs that a run predicts: those that are a row for each sample.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Check/Verdict.h"

namespace accum {

/// Places the values of @predict and leaves out the outputs for which that cannot be done, or that are not
/// the rows of the samples one after the other. The function then has the arguments of `forward`, which is
/// placed; it is gone where no output is left.
void placeOutputs(mlir::func::FuncOp predict, mlir::func::FuncOp forward, Verdict &verdict);

} // namespace accum
