// SPDX-License-Identifier: Apache-2.0
// Tiles of bf16 in shared memory, products of them by the tensor cores of a block's warps, sums in f32
// registers.
#pragma once

#include "passes/Codegen/Cuda/SharedTiles.h"

namespace accum::codegen {

/// Four warps own `slabs` times 16 rows each; tiles of `columns` stream by.
struct WarpShape {
  static constexpr int64_t kWarps = 4, kThreads = 32 * kWarps, kSlab = 16;
  int64_t slabs = 1, columns = 64;

  int64_t rows() const { return kWarps * kSlab * slabs; }
};

/// Fragments are mma.m16n8k16's (PTX ISA): lane 4 g + t has of a slab the rows g and g + 8, and of every
/// eight columns 2 t and 2 t + 1.
///   left operand, 16 x 16:  4 words of two bf16. Of a tile's rows: [16 columns][slab][word]
///   sums, 16 x 8:           4 numbers: row g, then row g + 8. Of `width` columns: [slab][8 columns][number]
class WarpCode : public ThreadCode {
public:
  WarpCode(mlir::Location loc, mlir::Operation *end, const WarpShape &shape);

  int64_t rowsEach() const { return 2 * shape.slabs; }
  Value ownRow(int64_t i) { return add(row, WarpShape::kSlab * (i / 2) + 8 * (i % 2)); }
  /// A number's place among sums of `width` columns: which of the own rows, and the column less ownColumn.
  struct Spot {
    int64_t row, column;
  };
  static Spot spotOf(size_t index, int64_t width);

  /// Rows first, first + 1, ... of `matrix`; the last one again behind it, zeros behind its columns.
  void fill(const Tile &tile, const Matrix &matrix, Value first);
  /// The same, which has ended behind finishCopies where 16 bytes of the matrix lie on 16 bytes.
  void startFill(const Tile &tile, const Matrix &matrix, Value first);
  /// The rows of `tile` that the warp owns, as left operand.
  Values leftOf(const Tile &tile);
  /// Own rows by the rows first .. first + 15 of `right`, over all columns: sums of 16 columns.
  Values products(llvm::ArrayRef<Value> left, const Tile &right, int64_t first);
  /// Sums of 16 columns, rounded, as left operand.
  Values packed(llvm::ArrayRef<Value> sums);
  /// sums += left (16 columns) * rows first .. first + 15 of `right`.
  void accumulate(llvm::MutableArrayRef<Value> sums, llvm::ArrayRef<Value> left, const Tile &right,
                  int64_t first);
  Values zeroSums(int64_t width) { return Values(shape.slabs * width / 2, real(0)); }
  /// Own sums to the rows behind `first` that exist.
  void write(const Matrix &matrix, Value first, llvm::ArrayRef<Value> sums);

  /// A tile of bf16 as rows to read.
  Matrix asMatrix(const Tile &tile) {
    return {tile.data, b.getBF16Type(), tile.rows, tile.width, tile.stride, true};
  }
  /// x . y of rows first, first + 1, ... to a row of f32, one per row of it; behind the last row it again.
  void dotRows(const Tile &dots, const Matrix &x, const Matrix &y, Value first);
  void putOne(const Tile &tile, Value number, Value element) {
    store(element, at(tile.data, number, b.getF32Type()), 4);
  }
  Value takeOne(const Tile &tile, Value number) {
    return load(b.getF32Type(), at(tile.data, number, b.getF32Type()), 4);
  }
  /// Over the four lanes that share rows.
  Value overColumns(Value x, llvm::function_ref<Value(Value, Value)> combine) {
    return overLanes(x, {2, 1}, combine);
  }
  /// The smallest of all threads' numbers, of which those of rows' lanes are equal. `slots`: a row of a
  /// number per warp.
  Value leastOfWarps(Value own, const Tile &slots);

  const WarpShape shape;
  Value thread, lane, warp;
  Value row;       ///< the first own one
  Value ownColumn; ///< 2 t

private:
  /// Gets row, column and place of all eights of a tile.
  using Place = llvm::function_ref<void(Value, Value, Value)>;
  void forEights(const Tile &tile, Place place);
  Value eightOf(const Matrix &matrix, Value row, Value column, bool mayEnd);
  Value bitsOf(const Matrix &matrix, Value row, Value column, bool mayEnd);
  void writePair(const Matrix &matrix, Value line, int64_t column, Value low, Value high);
  Values loadMatrices(Value lanePlace, int64_t distance, bool transposed);
  void multiply(llvm::MutableArrayRef<Value> sums, llvm::ArrayRef<Value> left, Value first, Value second);

  /// The address of a lane's row for loadMatrices.
  Value rowsFirst(const Tile &tile);
  Value columnsFirst(const Tile &tile);
  mlir::Type words; ///< four of i32
};

} // namespace accum::codegen
