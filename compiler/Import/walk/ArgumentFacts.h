// SPDX-License-Identifier: Apache-2.0
// What the data loader should know about each argument of @forward.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace accum::import {

/// Sets `train.bound` (exclusive, the smallest of the tables and classes that the argument indexes),
/// `train.ignore_index` (one number outside of it, where each of these uses takes something else in its
/// place) and `train.synthesize` (how an absent input is made: ones, iota or zeros).
void annotateArguments(mlir::func::FuncOp function);

/// The operand of what only moves elements or changes their type; null for all else.
mlir::Value moved(mlir::Value value);
/// Whether `value` holds elements of `argument`, some perhaps replaced by others (a select).
bool holdsElementsOf(mlir::Value value, mlir::Value argument);

} // namespace accum::import
