// SPDX-License-Identifier: Apache-2.0
// Random placed graphs: ops are tried on random operands and kept where they have a placement.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "test/dialects/NN/Evaluator.h"
#include <map>
#include <random>

namespace accum::test {

class RandomGraph {
public:
  RandomGraph(mlir::MLIRContext &context, uint64_t seed);

  /// Tries that many ops.
  void grow(int tries);
  /// Random data of an argument for `samples` samples: integers in [0, 3), reals in (-1, 1).
  Array dataFor(mlir::Value argument, int64_t samples);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp forward;
  std::map<std::string, Array> parameters;
  /// Per op name: how often it was kept, and refused.
  std::map<std::string, std::pair<int, int>> tally;

private:
  using Wanted = llvm::function_ref<bool(mlir::Value)>;
  int64_t pick(int64_t bound) { return static_cast<int64_t>(random() % bound); }
  mlir::Value pickValue(Wanted wanted);
  mlir::Value pickFloat();
  mlir::Value constant(double value, mlir::Type element);
  mlir::Value indicesBelow(mlir::Value indices, int64_t bound);
  void addParameter(int number, llvm::ArrayRef<int64_t> shape, bool isInteger);
  bool takeTotals(mlir::Operation *op, nn::Refusal why);
  mlir::Operation *makeOp();
  mlir::Operation *makeElementwise();
  mlir::Operation *makeContract();
  mlir::Operation *makeReduction();
  mlir::Operation *makeReshape();
  mlir::Operation *makeLayout();
  mlir::Operation *makeBroadcast();
  mlir::Operation *makePad();
  mlir::Operation *makeGather();
  mlir::Operation *makeGatherElements();
  mlir::Operation *makeNorm();
  mlir::Operation *makeLoss();
  mlir::Operation *makeAccumulation();
  mlir::Operation *makeCreation();
  mlir::RankedTensorType withRandomExtent(llvm::ArrayRef<int64_t> shape, mlir::Type element);

  std::mt19937_64 random;
  mlir::OpBuilder builder;
  llvm::SmallVector<mlir::Value> values;
};

} // namespace accum::test
