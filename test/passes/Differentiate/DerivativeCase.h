// SPDX-License-Identifier: Apache-2.0
// One derivative rule under test: a small placed graph around an op, its step, and numbers for both.
#pragma once

#include "dialects/NN/PlacedBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "test/dialects/NN/Evaluator.h"
#include <random>

namespace accum::test {

using Parameters = std::map<std::string, Array>;

/// What a graph under test is made of. `in` is batched (slab 1x3x4, every sample x + w) or replicated (w,
/// 2x3x4).
struct Ingredients {
  nn::PlacedBuilder &builder;
  mlir::Value in;
  /// A second value like `in`, from another parameter.
  mlir::Value other;
  /// A trained table, 5x4.
  mlir::Value table;
  /// Integers in [0, 3): batched (slab 1x3) beside a batched `in`, else replicated (2x3).
  mlir::Value ids;
  mlir::Value valid;

  mlir::Location loc() const { return builder.getUnknownLoc(); }
  mlir::RankedTensorType typeOf(llvm::ArrayRef<int64_t> shape) const {
    return mlir::RankedTensorType::get(shape, builder.getF64Type());
  }
  /// A random constant.
  mlir::Value constant(llvm::ArrayRef<int64_t> shape) const;
  mlir::Value scalar(double value) const;
  /// With zeros in the spare rows, as `check` makes it before sums over the batch.
  mlir::Value masked(mlir::Value value) const;
  mlir::Value map(nn::ElementwiseFn fn, mlir::ValueRange operands) const;
};

using Graph = std::function<mlir::Value(Ingredients)>;

/// loss = sum over samples and elements of graph(in) * random weights; where `in` is replicated, times
/// sum(x).
class DerivativeCase {
public:
  DerivativeCase(mlir::MLIRContext &context, const Graph &graph, bool isBatched);

  /// Builds the step; false where a rule is missing or gives a value without a placement.
  bool differentiate();
  double loss(const Parameters &parameters) const;
  /// Gradients by the step, in micro-steps of `m` samples (spare rows repeat the last sample); "loss" is the
  /// loss.
  Parameters gradients(int64_t m) const;

  static constexpr int64_t samples = 3;
  Parameters parameters;
  mlir::OwningOpRef<mlir::ModuleOp> forward, step;

private:
  void addParameter(llvm::StringRef name, llvm::ArrayRef<int64_t> shape);
  void bind(Evaluator &evaluator, mlir::Block &block, int64_t first, int64_t count) const;

  std::mt19937_64 random{7};
  std::map<std::string, Array> inputs;
};

} // namespace accum::test
