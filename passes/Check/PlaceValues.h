// SPDX-License-Identifier: Apache-2.0
// The forward walk of `check`: from extents to placements.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Check/Totals.h"
#include "llvm/ADT/DenseSet.h"

namespace accum {

/// A value that has no placement, and why.
struct Rejection {
  mlir::Location location;
  /// Null where an argument is refused.
  mlir::Operation *op;
  nn::Refusal why;
  /// The ops that made the sums in question.
  llvm::SmallVector<mlir::Operation *> origins;
};

/// Places every value of @forward, in order. A sum over the samples that is used where only a replicated
/// value fits is replaced by its total if the pre-pass can compute it; a replicated term of a sum by its
/// share. An op with an operand that was refused is not looked at, so that only root causes are reported.
class PlaceValues {
public:
  /// All of a graph, which ends in its loss, or the part before its samples meet.
  enum Extent { All, Part };
  explicit PlaceValues(mlir::func::FuncOp forward, Extent extent = All)
      : forward(forward), extent(extent), totals(dependences) {}
  void run();
  llvm::ArrayRef<Rejection> rejections() const { return rejected; }

private:
  void placeArguments();
  void placeLoss();
  void placeScalars();
  void visit(mlir::Operation *op);
  llvm::LogicalResult place(mlir::Operation *op, nn::Refusal &why);
  bool repair(mlir::Operation *op, nn::Refusal &why);
  bool repairSums(mlir::Operation *op, nn::Refusal &why);
  void reject(mlir::Operation *op, nn::Refusal why);

  mlir::func::FuncOp forward;
  Extent extent;
  Dependences dependences;
  Totals totals;
  llvm::DenseSet<mlir::Value> failedValues;
  llvm::SmallVector<Rejection> rejected;
};

} // namespace accum
