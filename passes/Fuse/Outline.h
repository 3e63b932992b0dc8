// SPDX-License-Identifier: Apache-2.0
// From a group of ops to a command and its kernel.
#pragma once

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace accum {

/// Makes kernels, one per distinct body, and the commands that run them.
class Outliner {
public:
  explicit Outliner(mlir::ModuleOp module) : module(module), symbols(module) {}

  /// Replaces `group` (ops of one block, in block order, closed under paths between its members) by a command
  /// at the place of the last one. Constants and iotas that the group reads are copied into the kernel.
  train::CommandOp outline(mlir::ArrayRef<mlir::Operation *> group);

  /// Command before `anchor` that runs `kernel`, which is consumed (shared with an equal one if there is).
  train::CommandOp call(mlir::func::FuncOp kernel, mlir::ValueRange inputs, mlir::Operation *anchor,
                        mlir::Location loc);

  /// The symbol of `kernel`, which is consumed (shared with an equal one that this outliner made, if there
  /// is).
  mlir::FlatSymbolRefAttr share(mlir::func::FuncOp kernel);

  mlir::func::FuncOp kernelOf(train::CommandOp command) {
    return symbols.lookup<mlir::func::FuncOp>(command.getKernel());
  }
  mlir::func::FuncOp lookup(mlir::FlatSymbolRefAttr kernel) {
    return symbols.lookup<mlir::func::FuncOp>(kernel.getAttr());
  }

private:
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::StringMap<mlir::FlatSymbolRefAttr> kernels; // printed body -> symbol
  int64_t nextId = 0;
};

/// Read inside kernels instead of being passed in.
bool isKernelConstant(mlir::Operation *op);

} // namespace accum
