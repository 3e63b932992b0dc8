// SPDX-License-Identifier: Apache-2.0
// A slow and obvious interpreter of nn ops at a concrete batch size, in f64: the oracle of placement rules
// and derivatives. It shares no code with the compiler's own lowering.
#pragma once

#include "dialects/NN/NNDialect.h"
#include "dialects/Train/TrainDialect.h"
#include <functional>
#include <map>
#include <vector>

namespace accum::test {

/// A dense row-major array; integers and booleans are doubles with whole values.
struct Array {
  llvm::SmallVector<int64_t> shape;
  std::vector<double> data;

  static Array zeros(llvm::ArrayRef<int64_t> shape);
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  double &at(llvm::ArrayRef<int64_t> index);
  double at(llvm::ArrayRef<int64_t> index) const { return const_cast<Array *>(this)->at(index); }
};

/// Calls `visit` with every index of `shape`, in row-major order.
void forEachIndex(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

/// The batch that a program sees, and what it learns from outside.
struct Batch {
  int64_t samples = 1;
  /// Place of the first sample in the global batch: dropout's masks and shares depend on it.
  int64_t firstRow = 0;
  /// The whole sum of a partial. Absent: this batch is the whole.
  std::function<Array(nn::TotalOp)> total;
  /// Values of parameters by symbol.
  std::map<std::string, Array> parameters;
};

class Evaluator {
public:
  explicit Evaluator(Batch batch) : batch(std::move(batch)) {}

  /// The shape of a value in this batch: the slab, with the batch axis times the samples. Graphs may be
  /// placed, or have extents as after import.
  llvm::SmallVector<int64_t> shapeOf(mlir::Value value) const;
  void set(mlir::Value value, Array array);
  const Array &at(mlir::Value value) const;
  void run(mlir::Operation *op);
  /// All ops but terminators.
  void run(mlir::Block::OpListType &ops);

  const Batch batch;

private:
  llvm::DenseMap<mlir::Value, Array> values;
};

// By kind; each computes the results of `op`, or returns false where it is of another kind.
bool evaluateElementwise(Evaluator &evaluator, mlir::Operation *op);
bool evaluateAttention(Evaluator &evaluator, mlir::Operation *op);
bool evaluateContraction(Evaluator &evaluator, mlir::Operation *op);
bool evaluateReduction(Evaluator &evaluator, mlir::Operation *op);
bool evaluateNorm(Evaluator &evaluator, mlir::Operation *op);
bool evaluateShape(Evaluator &evaluator, mlir::Operation *op);
bool evaluateGather(Evaluator &evaluator, mlir::Operation *op);
bool evaluateAccumulation(Evaluator &evaluator, mlir::Operation *op);

} // namespace accum::test
