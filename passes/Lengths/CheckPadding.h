// SPDX-License-Identifier: Apache-2.0
// Proves that what is after the end of a sample, where it is shorter than its size, does not reach the loss.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace accum {

/// What an input holds after the end of a sample that is shorter than its size. The end of a sample is the
/// last position, at least the first, at which an input with `isMask` differs from its fill.
struct PaddedInput {
  unsigned argument;
  /// Of the argument's type, the batch axis included.
  int64_t axis;
  /// What is written there.
  double fill;
  /// The proof needs the fill: positions that hold something else belong to the sample.
  bool isMask;
  /// The proof needs 1 at every position of the sample as well: no holes, no padding on the left.
  bool isOnes = false;
};

/// `sizes`: one model, checked, at ascending sizes of the dimension, at least two. The loss of each of them
/// is the same for every sample that fits, whatever is after its end, or an error at the node that reads it.
mlir::FailureOr<llvm::SmallVector<PaddedInput>> checkPadding(llvm::ArrayRef<mlir::ModuleOp> sizes,
                                                             llvm::StringRef dimension);

} // namespace accum
