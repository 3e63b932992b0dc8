// SPDX-License-Identifier: Apache-2.0
// Kernels that read and write bf16, and compute in f32 as before.
#pragma once

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace accum {

/// Fits kernels to commands whose operands or results have become bf16.
class NarrowKernels {
public:
  explicit NarrowKernels(mlir::ModuleOp module) : module(module), symbols(module) {}

  /// Gives `command` a kernel of its types, shared with commands of the same kernel and types: operands are
  /// widened when they are read, results rounded when they are written. Kernels of libraries have the types
  /// themselves. Updates what depends on types: bytes, and which results may lie in operands.
  void fit(train::CommandOp command);

  /// A command before `anchor` (or at the end of its block) that rounds `value` to bf16.
  mlir::Value round(mlir::Value value, mlir::OpBuilder &builder, mlir::Location loc);

private:
  mlir::func::FuncOp variant(train::CommandOp command, mlir::FunctionType type);
  mlir::func::FuncOp insert(mlir::func::FuncOp kernel, const std::string &name);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>, mlir::func::FuncOp> known; ///< by name, type
};

/// `type` with bf16 elements.
mlir::RankedTensorType bf16Type(mlir::Type type);

} // namespace accum
