// SPDX-License-Identifier: Apache-2.0
// Reshapes are views: the same bytes under another shape.
#pragma once

#include "dialects/NN/NNDialect.h"

namespace accum::nn {

/// The value that owns the bytes: the operand behind reshapes.
inline mlir::Value behindViews(mlir::Value value) {
  while (auto view = value.getDefiningOp<ReshapeOp>())
    value = view.getInput();
  return value;
}

} // namespace accum::nn
