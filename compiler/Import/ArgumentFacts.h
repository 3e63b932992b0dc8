// SPDX-License-Identifier: Apache-2.0
// What the data loader should know about each argument of @forward.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace accum::import {

/// Sets `train.bound` (exclusive, the smallest of the tables and classes that the argument indexes) and
/// `train.synthesize` (how an absent input is made: ones, iota or zeros).
void annotateArguments(mlir::func::FuncOp function);

} // namespace accum::import
