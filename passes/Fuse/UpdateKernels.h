// SPDX-License-Identifier: Apache-2.0
// The optimizers' formulas as one kernel over all parameters.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/artifact/Optimizers.h"

namespace accum {

/// Kernel (hyper: tensor<8xf64>, decay: tensor<2Pxf64> as in accum_hyper, parameters, gradients, slots...) ->
/// (parameters, slots...) on all P trained parameters at once, rows of 256 bytes. Parameter i owns the rows
/// from starts[i] to starts[i + 1]. With more than one rank it updates one of so many equal parts of the
/// rows, and the rank, tensor<i64>, stands behind `decay`; with more than one piece one of so many of that,
/// and its number, tensor<i64>, stands there too.
mlir::func::FuncOp buildUpdateKernel(const runtime::OptimizerSpec &optimizer, mlir::ArrayRef<int64_t> starts,
                                     mlir::Type element, int64_t ranks = 1, int64_t pieces = 1);

} // namespace accum
