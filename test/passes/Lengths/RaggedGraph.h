// SPDX-License-Identifier: Apache-2.0
// Random graphs at two sizes of one dimension, op by op the same.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/Lengths/PaddingWalk.h"
#include "test/dialects/NN/Evaluator.h"
#include <map>
#include <random>

namespace accum::test {

inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

class RaggedGraph {
public:
  static constexpr int64_t kSizes[] = {5, 8};
  /// After the end, pads hold 3 and labels -100. choices: a mask of two rows, of which one may end earlier.
  enum Input : unsigned { features, mask, weights, labels, ids, choices };
  /// Some scores are hidden by a window; there is a mask of several rows.
  enum class Kind { Plain, Windows, Rows };

  RaggedGraph(mlir::MLIRContext &context, uint64_t seed, Kind kind);

  /// Tries that many ops, and closes the graphs.
  void grow(int tries);
  /// A sample of `length`: the same at both sizes up to its end, and random after it unless the input tells
  /// it.
  Array dataFor(unsigned input, size_t size, int64_t length, uint64_t sample, uint64_t junk);
  llvm::SmallVector<lengths::Presumed> presumed() const;

  mlir::OwningOpRef<mlir::ModuleOp> modules[2];
  std::map<std::string, Array> parameters;
  std::map<std::string, int> tally;

private:
  using Make = llvm::function_ref<mlir::Value(mlir::OpBuilder &, llvm::ArrayRef<mlir::Value>, int64_t size)>;
  int64_t pick(int64_t bound) { return static_cast<int64_t>(random() % bound); }
  /// The number of a value whose type at the small size fits; -1 where there is none.
  int64_t find(llvm::function_ref<bool(mlir::RankedTensorType)> fits);
  int64_t findReal(int64_t rank = -1);
  /// An op at both sizes on values of those numbers; the number of its first result. Negative numbers: gives
  /// up.
  int64_t add(llvm::ArrayRef<int64_t> operands, Make make);
  int64_t constant(double value, bool isInteger = false);
  int64_t elementwise(nn::ElementwiseFn fn, llvm::ArrayRef<int64_t> operands);
  int64_t cast(int64_t value, mlir::Type element);
  int64_t reshape(int64_t value, llvm::function_ref<void(llvm::SmallVector<int64_t> &)> change);
  int64_t places(int64_t axis);
  int64_t causalMask();
  int64_t windowMask();
  void makeOp();
  void makeElementwise();
  void makeMask();
  void makeRows();
  void makeScores();
  void makeLayout();
  void makeCut();
  void makeReduction();
  void makeContraction();
  void makeRead();
  void makeLoss();
  void makeAttention();

  Kind kind;
  std::mt19937_64 random;
  mlir::OpBuilder builders[2];
  llvm::SmallVector<mlir::Value> values[2];
};

} // namespace accum::test
