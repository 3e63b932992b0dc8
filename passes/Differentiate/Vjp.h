// SPDX-License-Identifier: Apache-2.0
// Derivative rules: one function an op, from the cotangents of its results to those of its operands.
#pragma once

#include "dialects/NN/NNDialect.h"
#include "mlir/IR/Builders.h"
#include <functional>

namespace accum {

/// One op being differentiated, and the small algebra that rules are written in. Types of results are
/// inferred; the builder carries a listener that places them.
class Vjp {
public:
  /// cotangents: one per result, null where the loss does not depend on it. wanted: which operands need
  /// theirs.
  Vjp(mlir::OpBuilder &builder, mlir::Operation *op, mlir::ArrayRef<mlir::Value> cotangents,
      std::function<bool(mlir::Value)> wanted);

  mlir::Operation *op() const { return source; }
  /// Cotangent of a result; null where the loss does not depend on it.
  mlir::Value cotangent(unsigned result = 0) const { return cotangents[result]; }
  bool wants(unsigned operand) const { return wanted(source->getOperand(operand)); }
  /// Adds `value`, which has the operand's shape, to the operand's cotangent.
  void give(unsigned operand, mlir::Value value);
  mlir::ArrayRef<std::pair<unsigned, mlir::Value>> given() const { return results; }

  // Elementwise, with broadcast.
  mlir::Value map(nn::ElementwiseFn fn, mlir::ValueRange operands);
  mlir::Value add(mlir::Value a, mlir::Value b) { return map(nn::ElementwiseFn::add, {a, b}); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return map(nn::ElementwiseFn::sub, {a, b}); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return map(nn::ElementwiseFn::mul, {a, b}); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return map(nn::ElementwiseFn::div, {a, b}); }
  mlir::Value neg(mlir::Value a) { return map(nn::ElementwiseFn::neg, {a}); }
  mlir::Value select(mlir::Value c, mlir::Value a, mlir::Value b) {
    return map(nn::ElementwiseFn::select, {c, a, b});
  }

  /// Scalar constant of `like`'s element type; it broadcasts.
  mlir::Value constant(double value, mlir::Value like);
  mlir::Value sum(mlir::Value value, mlir::ArrayRef<int64_t> axes);
  mlir::Value contract(const std::string &spec, mlir::Value lhs, mlir::Value rhs);
  mlir::Value cast(mlir::Value value, mlir::Type element);
  /// Under `like`'s shape; its placement is the dual of like's, so this is for cotangents of `like`.
  mlir::Value reshapeTo(mlir::Value value, mlir::Value like);
  /// With extents 1 inserted at `axes` (of the result), sample axis kept.
  mlir::Value unsqueeze(mlir::Value value, mlir::ArrayRef<int64_t> axes);
  /// Sums what broadcasting spread: from the shape of an elementwise result to that of operand `like`.
  mlir::Value unbroadcast(mlir::Value value, mlir::Value like);
  /// The type of `like`'s cotangent.
  mlir::RankedTensorType cotangentType(mlir::Value like) const;

  mlir::OpBuilder &builder;

private:
  mlir::Operation *source;
  mlir::SmallVector<mlir::Value> cotangents;
  std::function<bool(mlir::Value)> wanted;
  mlir::SmallVector<std::pair<unsigned, mlir::Value>> results;
};

/// Applies the rule of vjp.op(); failure, with a diagnostic naming the op, where there is none.
mlir::LogicalResult differentiateOp(Vjp &vjp);

// One function per op kind, called by differentiateOp; by kind in ElementwiseRules, NormRules, ShapeRules,
// Rules.
mlir::LogicalResult differentiateElementwise(Vjp &vjp, nn::ElementwiseOp op);
mlir::LogicalResult differentiateSoftmax(Vjp &vjp, nn::SoftmaxOp op);
mlir::LogicalResult differentiateLayerNorm(Vjp &vjp, nn::LayerNormOp op);
mlir::LogicalResult differentiateRmsNorm(Vjp &vjp, nn::RmsNormOp op);
mlir::LogicalResult differentiateReshape(Vjp &vjp, nn::ReshapeOp op);
mlir::LogicalResult differentiateTranspose(Vjp &vjp, nn::TransposeOp op);
mlir::LogicalResult differentiateBroadcast(Vjp &vjp, nn::BroadcastOp op);
mlir::LogicalResult differentiateSlice(Vjp &vjp, nn::SliceOp op);
mlir::LogicalResult differentiatePad(Vjp &vjp, nn::PadOp op);
mlir::LogicalResult differentiateConcat(Vjp &vjp, nn::ConcatOp op);

} // namespace accum
