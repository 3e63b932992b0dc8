// SPDX-License-Identifier: Apache-2.0
// Tiles of bf16 or tf32 in shared memory, products of them by the tensor cores of a block's warps, sums in
// f32 registers.
#pragma once

#include "passes/Codegen/Cuda/SharedTiles.h"

namespace accum::codegen {

constexpr int64_t kWindow = 16; ///< columns of sums that are worked on at once

/// Four warps own `slabs` times 16 rows each; tiles of `columns` stream by.
struct WarpShape {
  static constexpr int64_t kWarps = 4, kThreads = 32 * kWarps, kSlab = 16;
  int64_t slabs = 1, columns = 64;
  int64_t bytes = 2; ///< of an operand's element: bf16; 4: tf32, an f32 with 10 bits of mantissa

  int64_t rows() const { return kWarps * kSlab * slabs; }
  bool isBf16() const { return bytes == 2; }
  int64_t depth() const { return 32 / bytes; } ///< of one instruction's product
  int64_t piece() const { return 16 / bytes; } ///< elements that are moved at once
};

/// Fragments are those of mma.m16n8k16 (bf16) and m16n8k8 (tf32) by the PTX ISA: lane 4 g + t has of a slab
/// the rows g and g + 8, and of every eight columns of sums 2 t and 2 t + 1.
///   left operand, 16 x depth:  4 words: row g, row g + 8, and the same 16 bytes further. Of a tile's rows:
///                              [depth columns][slab][word]
///   sums, 16 x 8:              4 numbers: row g, then row g + 8. Of `width` columns: [slab][8
///   columns][number]
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
  /// The same, which has ended behind finishCopies, and finishFill by the same threads, where 16 bytes of the
  /// matrix lie on 16 bytes.
  void startFill(const Tile &tile, const Matrix &matrix, Value first);
  /// What copies brought as f32 is rounded to tf32.
  void finishFill(const Tile &tile, const Matrix &matrix);
  /// The rows of a tile that the warp owns as left operand: in registers, or where they are read from each
  /// time.
  struct Left {
    Values words;
    Tile tile;
  };
  Left keep(const Tile &tile);
  Left leave(const Tile &tile) { return {{}, tile}; }
  /// Own rows by the rows first .. first + 15 of `right`, over all columns: sums of 16 columns.
  Values products(const Left &left, const Tile &right, int64_t first);
  /// Sums of 16 columns, rounded, as left operand; in tf32 of two products, whose columns are counted 0, 2,
  /// 4, 6, 1, 3, 5, 7 so that no number changes its lane.
  Values packed(llvm::ArrayRef<Value> sums);
  /// sums += left (16 columns, packed) * rows first .. first + 15 of `right`.
  void accumulate(llvm::MutableArrayRef<Value> sums, llvm::ArrayRef<Value> left, const Tile &right,
                  int64_t first);
  Values zeroSums(int64_t width) { return Values(shape.slabs * width / 2, real(0)); }
  /// Own sums to the rows behind `first` that exist.
  void write(const Matrix &matrix, Value first, llvm::ArrayRef<Value> sums);

  /// A tile of operands as rows to read.
  Matrix asMatrix(const Tile &tile) {
    mlir::Type element = shape.isBf16() ? mlir::Type(b.getBF16Type()) : b.getF32Type();
    return {tile.data, element, tile.rows, tile.width, tile.stride, true};
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
  /// Gets row, column and place of all pieces of a tile.
  using Place = llvm::function_ref<void(Value, Value, Value)>;
  void forPieces(const Tile &tile, Place place);
  Value pieceOf(const Matrix &matrix, Value row, Value column, bool mayEnd);
  Value bitsOf(const Matrix &matrix, Value row, Value column, bool mayEnd);
  Value rounded(Value piece); ///< where operands are tf32
  Value numberOf(Value piece, int64_t index);
  void writePair(const Matrix &matrix, Value line, int64_t column, Value low, Value high);
  Values loadMatrices(Value lanePlace, int64_t distance, bool transposed);
  void multiply(llvm::MutableArrayRef<Value> sums, llvm::ArrayRef<Value> left, Value first, Value second);
  Values leftAt(const Tile &tile, int64_t column);
  void accumulateSingles(llvm::MutableArrayRef<Value> sums, llvm::ArrayRef<Value> left, const Tile &right,
                         int64_t first);

  /// The address of a lane's row for loadMatrices.
  Value rowsFirst(const Tile &tile);
  Value columnsFirst(const Tile &tile);
  /// The type that an operand is loaded and stored as.
  mlir::Type storage() { return shape.isBf16() ? mlir::Type(b.getI16Type()) : b.getF32Type(); }
  mlir::Type words; ///< four of i32
};

} // namespace accum::codegen
