// SPDX-License-Identifier: Apache-2.0
// Values made of constants, computed: masks of triangles, indices.
#pragma once

#include "passes/Lengths/Facts.h"
#include "passes/Lengths/Lockstep.h"

namespace accum::lengths {

struct Table {
  llvm::SmallVector<int64_t> shape;
  std::vector<double> data;
};

/// What `op` makes of tables; nothing where it is too large, or not computed here.
std::optional<Table> computeTable(mlir::Operation *op, llvm::ArrayRef<const Table *> operands);

/// What a slice takes of a constant, however large that is; nothing where `op` is none.
std::optional<Table> cutTable(mlir::Operation *op);

/// At the largest size, which has every position.
class Tables {
public:
  explicit Tables(const Lockstep &sizes) : sizes(sizes) {}

  /// Null where the value is too large or an op in it is not computed here.
  const Table *find(mlir::Value value);
  /// One number at all positions of `axis` after that of `other` + from, whatever the other axes' positions.
  std::optional<Fill> causalFill(mlir::Value value, int64_t axis, int64_t other);
  /// The one number at position 0 of `axis`, whatever the other axes' positions.
  std::optional<double> firstNumber(mlir::Value value, int64_t axis);
  /// The one number where both axes are at the same position.
  std::optional<double> diagonalNumber(mlir::Value value, int64_t axis, int64_t other);

private:
  std::optional<Table> compute(mlir::Operation *op);

  const Lockstep &sizes;
  llvm::DenseMap<mlir::Value, std::unique_ptr<Table>> known;
};

/// The elements of a constant, in row-major order; one where they are equal. Empty where they cannot be read.
std::vector<double> elementsOf(mlir::Attribute value);

} // namespace accum::lengths
