// SPDX-License-Identifier: Apache-2.0
// Roots of sums that are never negative: norms and standard deviations, whose derivative at zero is zero in
// PyTorch.
#pragma once
#include "compiler/Import/walk/Binder.h"

namespace accum::import {

/// The root of `sum`, with a derivative of zero where it is zero. A NaN stays one.
mlir::Value rootOrZero(Emitter &emit, mlir::Value sum);

/// The rule of Sqrt. That of a variance is a standard deviation, unless the file says that the model took the
/// root itself.
void squareRoot(Binder &node);

/// sum^exponent of a norm of other order, with a derivative of zero where it is zero; null where the base is
/// no such sum, or the model took the power itself.
mlir::Value normFromSum(const Node &node, Emitter &emit, mlir::Value base, double exponent);

} // namespace accum::import
