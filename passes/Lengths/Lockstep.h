// SPDX-License-Identifier: Apache-2.0
// One graph at several sizes, op by op.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace accum::lengths {

/// The same value, or op, of each size is found by the one of the smallest. A slice that takes all of a table
/// at the largest size is not there.
class Lockstep {
public:
  /// Nothing where the graphs differ in more than extents, constants and what counts them: in `different`.
  static std::optional<Lockstep> of(llvm::ArrayRef<mlir::func::FuncOp> sizes, mlir::Operation *&different);

  mlir::func::FuncOp smallest() const { return forwards.front(); }
  size_t count() const { return forwards.size(); }
  mlir::Value at(mlir::Value value, size_t size) const;
  /// Null where the op is not there at that size: see above.
  mlir::Operation *opAt(mlir::Operation *op, size_t size) const { return ops.lookup(op)[size]; }
  /// The extents of an axis, size by size.
  llvm::SmallVector<int64_t> extents(mlir::Value value, int64_t axis) const;
  bool isRagged(mlir::Value value, int64_t axis) const;
  /// Along the first ragged axis of an input: the sizes themselves; empty where no input has one.
  llvm::ArrayRef<int64_t> sizes() const { return dimension; }

private:
  llvm::SmallVector<mlir::func::FuncOp> forwards;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *, 2>> ops;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 2>> values;
  llvm::SmallVector<int64_t> dimension;
};

} // namespace accum::lengths
