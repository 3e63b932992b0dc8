// SPDX-License-Identifier: Apache-2.0
// What values depend on: parameters, and totals of the pre-pass.
#pragma once

#include "mlir/IR/Operation.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

namespace accum {

struct Dependence {
  /// Any dependence on a trained parameter, also one without a derivative.
  bool onParameters = false;
  /// A total must be known first.
  bool onTotals = false;
};

/// Grows with the graph: record() every op in order.
class Dependences {
public:
  void record(mlir::Operation *op);
  Dependence of(mlir::Value value) const { return known.lookup(value); }

private:
  llvm::DenseMap<mlir::Value, Dependence> known;
  mlir::SymbolTableCollection symbols;
};

} // namespace accum
