// SPDX-License-Identifier: Apache-2.0
// Results of a kernel that may take the place of its operands.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace accum {

/// Pairs [result, argument]: row kernels read a row's elements before they write that row, and no other row,
/// so a result may take the place of an operand of its own type, each of another one. Null where the kernel
/// is none, or writes its results one after another.
mlir::ArrayAttr inPlacePairs(mlir::func::FuncOp kernel);

} // namespace accum
