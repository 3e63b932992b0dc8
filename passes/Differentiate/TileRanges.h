// SPDX-License-Identifier: Apache-2.0
// Parts of values: some consecutive rows along one axis, and what an op needs for them.
#pragma once

#include "mlir/IR/Builders.h"
#include <optional>

namespace accum {

/// `size` consecutive elements from `start` on along `axis`.
struct Range {
  int64_t axis, start, size;
};

/// Of each operand what `range` of the results is computed from; nothing for one that is needed as a whole.
using OperandRanges = llvm::SmallVector<std::optional<Range>>;

/// Failure: the op combines what lies along that axis, or has no rule. Requires: all results have the axis.
llvm::FailureOr<OperandRanges> operandRanges(mlir::Operation *op, Range range);

/// The op for `range` of its results, from parts of its operands as operandRanges says.
mlir::Operation *buildPart(mlir::OpBuilder &builder, mlir::Operation *op, Range range,
                           mlir::ValueRange operands);

/// `range` of a value that is known as a whole; nothing is copied of a constant that is the same everywhere.
mlir::Operation *cutPart(mlir::OpBuilder &builder, mlir::Value whole, Range range);

/// `type` with the extent of the range.
mlir::RankedTensorType partType(mlir::Type type, Range range);

} // namespace accum
