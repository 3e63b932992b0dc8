// SPDX-License-Identifier: Apache-2.0
// Nodes that make a NaN or an infinity of finite data.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace accum {

/// Names on the module the nodes whose result is not finite where a mask, made of an input, hides all that
/// they read: for the message about a loss that is NaN.
void markNanSources(mlir::func::FuncOp forward);

} // namespace accum
