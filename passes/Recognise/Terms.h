// SPDX-License-Identifier: Apache-2.0
// Reads elementwise expressions whatever their order and grouping.
#pragma once

#include "dialects/NN/NNDialect.h"
#include "mlir/IR/PatternMatch.h"
#include <optional>

namespace accum::recognise {

/// The number that every element of a float value is, when it is a constant; looks through changes of shape.
std::optional<double> constantOf(mlir::Value value);

/// Equal within what writing a constant in f32 or with seven digits loses.
bool isNear(double a, double b);

/// The op that makes `value`, when it is that function.
nn::ElementwiseOp definedBy(mlir::Value value, nn::ElementwiseFn fn);
/// The operand of a unary function; null when `value` is not made by it.
mlir::Value argumentOf(mlir::Value value, nn::ElementwiseFn fn);

/// `value` as constant * factors: looks through mul, neg, division by constants and small integer powers. A
/// value of `whole` is not taken apart.
struct Product {
  double constant = 1;
  llvm::SmallVector<mlir::Value> factors;
};
Product productOf(mlir::Value value, llvm::ArrayRef<mlir::Value> whole = {});

/// x of `x + constant` or `constant + x`; null when it is another sum, or none.
mlir::Value withoutAdded(mlir::Value value, double constant);

/// x and c of `x + c` with a constant c on either side.
std::optional<std::pair<mlir::Value, double>> sumWithConstant(mlir::Value value);

/// x of `1 - x`, also written `-x + 1`.
mlir::Value complementOf(mlir::Value value);

/// Makes ops of a match, at its place.
struct Replacement {
  mlir::PatternRewriter &rewriter;
  mlir::Location location;

  mlir::Value apply(mlir::Type type, nn::ElementwiseFn fn, mlir::ValueRange operands) const;
  /// A scalar of `like`'s element type.
  mlir::Value number(mlir::Type like, double value) const;
};

/// Axes that grow with the batch.
llvm::ArrayRef<int64_t> batchAxesOf(mlir::Value value);
/// Whether an axis from `first` on grows with the batch.
bool isBatchedFrom(mlir::Value value, int64_t first);
/// The slab's shape.
llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);

/// A sum of `input` over its trailing axes from `axis` on, times `factor`, kept as extents 1 or dropped.
struct RowReduction {
  mlir::Value input;
  int64_t axis = 0;
  double factor = 1;
  mlir::Type statistics; ///< input's type without the trailing axes
};
/// Matches a reduction of that kind, possibly scaled and reshaped to extents 1 so that it broadcasts against
/// its input. No match over the batch axis.
std::optional<RowReduction> rowReduction(mlir::Value value, nn::ReduceKind kind);
/// The same for sum / count.
std::optional<RowReduction> rowMean(mlir::Value value);

/// A softmax whose rows are zero where all scores are -inf, written so that no NaN arises, neither forward
/// nor backward: select(dead, 0, softmax(select(dead, 0, scores))) with dead = (max(scores) == -inf).
struct SafeSoftmax {
  nn::SoftmaxOp softmax;
  mlir::Value scores;
};
std::optional<SafeSoftmax> safeSoftmax(mlir::Value value);

/// How many leading axes of its input a reshape merges into one, the others left alone; 0 when it does
/// something else.
int64_t mergedAxes(nn::ReshapeOp reshape);

} // namespace accum::recognise
