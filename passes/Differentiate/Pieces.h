// SPDX-License-Identifier: Apache-2.0
// Functions in two pieces: select(x > c, f(x), g(x)).
#pragma once
#include "dialects/NN/NNDialect.h"

namespace accum {

/// Every element is one number, known at compile time.
bool isNumber(mlir::Value value);

/// Whether both values that `select` takes by `comparison` are the same where that changes, so that there is
/// no jump: a maximum of two, or arithmetic of the compared value and of numbers. False where that is not
/// seen.
bool piecesMeet(nn::ElementwiseOp select, nn::ElementwiseOp comparison);

} // namespace accum
