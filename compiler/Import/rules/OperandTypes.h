// SPDX-License-Identifier: Apache-2.0
// What operators take, told before the dialect's verifiers would.
#pragma once
#include "compiler/Import/walk/Emitter.h"

namespace accum::import {

/// Refuses an operand of integers or truth values where ONNX has floats only.
inline void requireFloats(mlir::Value operand, const char *role = "an input") {
  if (!llvm::isa<mlir::FloatType>(elementTypeOf(operand)))
    refuseMalformed("has " + std::string(role) + " of integers or truth values, expected floats");
}

/// ONNX has some functions of integers as well, which only floats are built for.
void requireFloatsFor(nn::ElementwiseFn fn, bool areFloats);

} // namespace accum::import
