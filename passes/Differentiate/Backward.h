// SPDX-License-Identifier: Apache-2.0
// The cotangents of one phase, or of a part of it.
#pragma once

#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/Builders.h"

namespace accum {

/// Goes back over ops in reverse order of their execution; what it builds stands where `builder` is.
class Backward {
public:
  /// `active`: what a trained parameter reaches.
  Backward(mlir::OpBuilder &builder, const mlir::DenseSet<mlir::Value> &active)
      : builder(builder), active(active) {}

  /// From the loss, whose cotangent is 1.
  void seedLoss(mlir::Value loss);
  void seed(mlir::Value value, mlir::Value cotangent) { contributions[value].push_back(cotangent); }
  mlir::LogicalResult visit(mlir::Operation *op);
  /// All ops of a block, the last first.
  mlir::LogicalResult visitAll(mlir::Block &block);
  /// All contributions to a value's cotangent as a balanced tree of sums; null where there are none.
  mlir::Value sumOf(mlir::Value value) { return sumOf(contributions.lookup(value), value.getLoc()); }
  mlir::Value sumOf(mlir::SmallVector<mlir::Value> terms, mlir::Location loc);
  /// Contributions to the gradient of each trained parameter, in the order in which they are computed.
  mlir::SmallVector<std::pair<mlir::StringAttr, mlir::Value>> gradients;

private:
  mlir::OpBuilder &builder;
  const mlir::DenseSet<mlir::Value> &active;
  mlir::DenseMap<mlir::Value, mlir::SmallVector<mlir::Value>> contributions;
};

} // namespace accum
