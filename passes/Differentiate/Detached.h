// SPDX-License-Identifier: Apache-2.0
// Parameters whose gradient is no derivative of the loss, as the model wants it.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace accum {

/// Sets `detached` on the trained parameters that the loss depends on where the gradient does not know:
/// behind detached values, and behind what is constant between jumps (rounding, an index of a maximum, a
/// comparison). To be called before top-k is decomposed.
void markDetached(mlir::func::FuncOp forward);

} // namespace accum
