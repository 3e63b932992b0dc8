// SPDX-License-Identifier: Apache-2.0
// The rows that an op works on: what decides whether two ops can share one row kernel.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace accum {

/// A row kernel visits values of one type, `full`, row by row (rows run along the last axis), and may keep
/// statistics: one number per row.
struct RowSpace {
  mlir::RankedTensorType full;

  /// One value per element.
  bool isFull(mlir::Type type) const;
  /// One value per row: full's leading axes, with or without a last extent of 1.
  bool isStatistic(mlir::Type type) const;
  /// Every result of the op is one of the two.
  bool holds(mlir::Operation *op) const;
};

/// The row space that an op runs in by itself; nothing for ops that are no row ops (contractions, gathers,
/// reductions over leading axes, data movement).
std::optional<RowSpace> rowSpaceOf(mlir::Operation *op);

/// A sum over leading axes only (bias and norm weight gradients).
bool isColumnSum(mlir::Operation *op);

/// Slices, pads, transposes, gathers: read through by the kernel of their users, with nothing computed.
bool isDataMovement(mlir::Operation *op);

/// Recomputing it costs less than storing and reading its result: elementwise arithmetic without
/// transcendental functions.
bool isCheap(mlir::Operation *op);

} // namespace accum
