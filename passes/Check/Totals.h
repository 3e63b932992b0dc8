// SPDX-License-Identifier: Apache-2.0
// Totals: replicated values of partial sums over the batch, which the pre-pass can compute.
#pragma once

#include "dialects/NN/NNDialect.h"
#include "passes/Check/Dependence.h"

namespace accum {

class Totals {
public:
  explicit Totals(Dependences &dependences) : dependences(dependences) {}

  /// Whether pre-passes can compute a partial: its sums depend on inputs and on other totals, not on
  /// parameters.
  bool exists(mlir::Value partial);

  /// The twin, made in front of `before` and once per value. Totals are taken where the sums are born and the
  /// ops behind them are repeated, so that counts are added up as integers and a mean of a mean needs one
  /// pre-pass. Requires: it exists.
  mlir::Value replicated(mlir::Value partial, mlir::Operation *before);

  /// The ops that sum over the batch, from which `partial` comes.
  llvm::SmallVector<mlir::Operation *> originsOf(mlir::Value partial);

private:
  bool isTotalled(mlir::Value partial);

  Dependences &dependences;
  llvm::DenseMap<mlir::Value, mlir::Value> twins;
};

} // namespace accum
