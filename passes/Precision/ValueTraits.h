// SPDX-License-Identifier: Apache-2.0
// What the numbers of a float value are, as far as it decides whether 8 bits of mantissa can hold them.
#pragma once

#include "dialects/NN/NNDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace accum {

struct ValueTraits {
  /// Made from weights or from float inputs. What comes from integers and constants alone is not: positions,
  /// angles and masks lose their meaning when they are rounded.
  bool learned = false;
  /// One number per row, from a reduction of the row: means, log-sum-exps, losses.
  bool statistic = false;
  /// May hold finite numbers that no bf16 holds: scores below a mask of -3.4e38.
  bool extreme = false;
  /// Built up in memory, term by term: scattered sums and running sums, sums over tiles of rows. Rounding
  /// after every term would lose them.
  bool summed = false;
};

/// Traits of constants: many kernels share one table, which is looked through once.
class ConstantTraits {
public:
  ValueTraits of(nn::ConstantOp op);

private:
  mlir::DenseMap<mlir::Attribute, bool> extreme;
};

/// Traits of the values of a step, which must consist of commands, followed through the kernels' bodies.
class TraitAnalysis {
public:
  explicit TraitAnalysis(train::StepOp step);
  ValueTraits of(mlir::Value value) const { return traits.lookup(value); }

private:
  void visitBlock(mlir::Block &block);
  void visitCommand(train::CommandOp command);

  mlir::DenseMap<mlir::Value, ValueTraits> traits;
  ConstantTraits constants;
  mlir::SymbolTableCollection symbols; // the step is only read
};

} // namespace accum
