// SPDX-License-Identifier: Apache-2.0
// Reshapes are views: the same bytes under another shape.
#pragma once

#include "dialects/NN/NNDialect.h"

namespace accum::nn {

/// The type of a value that is a tensor.
inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// The value that owns the bytes: the operand behind reshapes.
inline mlir::Value behindViews(mlir::Value value) {
  while (auto view = value.getDefiningOp<ReshapeOp>())
    value = view.getInput();
  return value;
}

} // namespace accum::nn
