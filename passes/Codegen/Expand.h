// SPDX-License-Identifier: Apache-2.0
// Patterns that write composite ops with elementwise ops and reductions, by kind.
#pragma once

#include "dialects/NN/NNDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

namespace accum::codegen {

void addNormExpansions(mlir::RewritePatternSet &patterns);
void addLossExpansions(mlir::RewritePatternSet &patterns);

/// nn ops, spelled as formulas.
struct Tensors {
  mlir::ImplicitLocOpBuilder builder;

  mlir::Value apply(nn::ElementwiseFn fn, mlir::ValueRange operands) {
    return nn::ElementwiseOp::create(builder, fn, operands);
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return apply(nn::ElementwiseFn::sub, {a, b}); }
  mlir::Value add(mlir::Value a, mlir::Value b) { return apply(nn::ElementwiseFn::add, {a, b}); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return apply(nn::ElementwiseFn::mul, {a, b}); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return apply(nn::ElementwiseFn::div, {a, b}); }
  mlir::Value exp(mlir::Value a) { return apply(nn::ElementwiseFn::exp, a); }
  /// A scalar of `like`'s element type.
  mlir::Value constant(mlir::Value like, double value);
  mlir::Value reshape(mlir::Value input, mlir::ArrayRef<int64_t> shape);
  /// Reduces and keeps the axes, with one element.
  mlir::Value reduce(nn::ReduceKind kind, mlir::Value input, mlir::ArrayRef<int64_t> axes);
};

} // namespace accum::codegen
