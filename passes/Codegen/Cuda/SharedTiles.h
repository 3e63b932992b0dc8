// SPDX-License-Identifier: Apache-2.0
// Tiles of matrices in the shared memory of a block.
#pragma once

#include "passes/Codegen/Cuda/ThreadCode.h"

namespace accum::codegen {

/// Rows in shared memory, of f32 or bf16; `width` of `stride` elements are used.
struct Tile {
  mlir::Value data;
  int64_t rows = 0, width = 0, stride = 0;
  mlir::Type element; ///< f32, or i16: bf16
};

/// Rows first, first + 1, ... of a tile, `rows` of them.
Tile rowsOf(ThreadCode &code, const Tile &tile, mlir::Value first, int64_t rows);

/// The rows of one head in memory.
struct Matrix {
  mlir::Value data;
  mlir::Type element;
  int64_t rows = 0, columns = 0, stride = 0;
  bool vectors = false; ///< 16 bytes of neighbours lie on 16 bytes throughout
};

/// Deals out the shared memory of a kernel.
class SharedArea {
public:
  SharedArea(ThreadCode &code, mlir::LLVM::LLVMFuncOp function);

  /// Columns are padded to whole rounds of eight lanes with four elements, rows so that neighbours start four
  /// banks apart.
  Tile takeOperand(ThreadCode &code, int64_t rows, int64_t columns);
  /// Four neighbouring rows start eight banks apart.
  Tile takeWeights(ThreadCode &code, int64_t rows, int64_t columns) {
    return take(code, rows, columns, columns + 8);
  }
  /// bf16 for tensor cores: columns are padded to 16, and rows so that eight neighbours' 16 bytes meet no
  /// bank twice.
  Tile takeBrain(ThreadCode &code, int64_t rows, int64_t columns);
  /// f32.
  Tile take(ThreadCode &code, int64_t rows, int64_t width, int64_t stride);
  /// What comes is for other blocks, or for when what was taken since `mark` is not needed any more: in the
  /// same place.
  void restart(int64_t mark = 0) { used = mark; }
  int64_t mark() const { return used; }
  /// Gives the array its size.
  void finish();
  int64_t bytes() const { return 4 * most; }

private:
  mlir::LLVM::GlobalOp global;
  mlir::Value base;
  int64_t used = 0, most = 0; ///< words of 4 bytes
};

} // namespace accum::codegen
