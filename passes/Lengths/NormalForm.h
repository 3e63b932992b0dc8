// SPDX-License-Identifier: Apache-2.0
// One form of a graph whatever folds at its size.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace accum::lengths {

/// A copy that computes the same. What is made of constants alone is one constant for each use, so that it
/// does not matter which steps were folded at which size; reads at a constant index that take at most two
/// pieces of their input are slices, so that a shift is seen to be one.
mlir::OwningOpRef<mlir::func::FuncOp> inNormalForm(mlir::func::FuncOp forward);

} // namespace accum::lengths
