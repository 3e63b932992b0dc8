// SPDX-License-Identifier: Apache-2.0
// Tiles of matrices in the shared memory of a block.
#pragma once

#include "passes/Codegen/Cuda/ThreadCode.h"

namespace accum::codegen {

/// Rows in shared memory, of f32, tf32 or bf16; `width` of `stride` elements are used.
struct Tile {
  mlir::Value data;
  int64_t rows = 0, width = 0, stride = 0;
  mlir::Type element; ///< f32 (or tf32), or i16: bf16
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

/// Deals out the shared memory of a kernel. A kernel that needs more than every launch gives asks for all of
/// it (`accum.entry`), and its array has no size of its own.
class SharedArea {
public:
  static constexpr int64_t kGiven = 48 << 10; ///< bytes that a block gets without asking
  static constexpr int64_t kMost = 99 << 10;  ///< bytes that a block may ask for on every card since sm_80

  SharedArea(ThreadCode &code, mlir::LLVM::LLVMFuncOp function);

  /// Columns are padded to whole rounds of eight lanes with four elements, rows so that neighbours start four
  /// banks apart.
  Tile takeOperand(ThreadCode &code, int64_t rows, int64_t columns);
  /// Four neighbouring rows start eight banks apart.
  Tile takeWeights(ThreadCode &code, int64_t rows, int64_t columns) {
    return take(code, rows, columns, columns + 8);
  }
  /// Operands for tensor cores, bf16 (2 `bytes`) or tf32 (4): rows are padded to 32 bytes, and so that eight
  /// neighbours' 16 bytes meet no bank twice.
  Tile takeTensor(ThreadCode &code, int64_t rows, int64_t columns, int64_t bytes);
  /// f32.
  Tile take(ThreadCode &code, int64_t rows, int64_t width, int64_t stride);
  /// What comes is for other blocks, or for when what was taken since `mark` is not needed any more: in the
  /// same place.
  void restart(int64_t mark = 0) { used = mark; }
  int64_t mark() const { return used; }
  /// Gives the array its size, or none.
  void finish();
  int64_t bytes() const { return 4 * most; }
  /// What the launch has to ask for.
  int64_t askedBytes() const { return bytes() > kGiven ? bytes() : 0; }

private:
  mlir::LLVM::GlobalOp global;
  mlir::Value base;
  int64_t used = 0, most = 0; ///< words of 4 bytes
};

} // namespace accum::codegen
