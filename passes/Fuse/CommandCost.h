// SPDX-License-Identifier: Apache-2.0
// What an op costs, as a function of the micro-batch size.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Operation.h"
#include "mlir/Support/LLVM.h"

namespace accum {

/// constant + slope * m.
struct Affine {
  int64_t constant = 0;
  int64_t slope = 0;
  Affine &operator+=(Affine other) {
    constant += other.constant;
    slope += other.slope;
    return *this;
  }
};

/// Elements of a value: its slab's, times m where it is batched.
Affine elementsOf(mlir::Type type);
/// Bytes of a value; i1 takes one byte.
Affine bytesOf(mlir::Type type);
/// Floating-point operations (a multiply-add counts 2; transcendental functions count 1 like the others).
Affine flopsOf(mlir::Operation *op);
/// Bytes that a kernel reads and writes: its arguments and results, of tables only the rows that are
/// gathered, sliced or added to.
Affine bytesMovedBy(mlir::func::FuncOp kernel);

} // namespace accum
