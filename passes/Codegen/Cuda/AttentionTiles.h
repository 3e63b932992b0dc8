// SPDX-License-Identifier: Apache-2.0
// Tiles of matrices in shared memory, products of them in the registers of a block's threads.
#pragma once

#include "passes/Codegen/Cuda/SharedTiles.h"

namespace accum::codegen {

/// How a block's threads share a tile of `rows` of its own by `columns` of what streams by: eight lanes
/// beside each other, a warp has four bands of them. Thread (band, lane) has the rows band, band + bands, ...
/// and the columns lane, lane + 8, ...: a warp's 16-byte reads of four rows, and of eight columns' rows, then
/// meet no bank twice.
struct TileShape {
  static constexpr int64_t kLanes = 8;
  int64_t threads = 0, rows = 0, columns = 0;

  int64_t bands() const { return threads / kLanes; }
  int64_t rowsEach() const { return rows / bands(); }
  int64_t columnsEach() const { return columns / kLanes; }
};

/// What all blocks of tiled kernels do.
class TileCode : public ThreadCode {
public:
  TileCode(mlir::Location loc, mlir::Operation *end, const TileShape &shape);

  Value ownRow(int64_t i) { return add(band, shape.bands() * i); }
  Value ownColumn(int64_t j) { return add(lane, TileShape::kLanes * j); }
  bool isPartial(const Matrix &matrix, const Tile &tile) const { return tile.width > matrix.columns; }

  /// Rows first, first + 1, ... of `matrix`; the last one again behind it, zeros behind its columns.
  void fill(const Tile &tile, const Matrix &matrix, Value first);
  /// Sums over the first `depth` columns of a[own row] * b[own column], row by row.
  Values products(const Tile &a, const Tile &b, int64_t depth);
  /// Own elements, row by row.
  void put(const Tile &tile, llvm::ArrayRef<Value> elements);
  /// The first lane's number of a row of one.
  void putOne(const Tile &tile, Value number, Value element);
  Value takeOne(const Tile &tile, Value number);
  /// sums[own row][own columns in fours] += weights * values. Four columns at (lane + 8 i) * 4 each.
  Values accumulate(const Values &sums, const Tile &weights, const Tile &values);
  int64_t foursEach(const Tile &values) const { return values.width / (4 * TileShape::kLanes); }
  Values zeroSums(const Tile &values) { return Values(shape.rowsEach() * foursEach(values), zeros()); }
  /// x . y of the rows first + band, first + band + bands, ...; all lanes of a band have them.
  Values rowDots(const Matrix &x, const Matrix &y, Value first, int64_t count);
  /// Own sums to the rows behind `first` that exist.
  void write(const Matrix &matrix, Value first, llvm::ArrayRef<Value> sums);
  /// The smallest of all threads' numbers, of which those of a band are equal. `slots`: a row of `bands`.
  Value leastOfBands(Value own, const Tile &slots);

  const TileShape shape;
  Value thread, lane, band;

private:
  Value fourOf(const Matrix &matrix, Value row, Value column, bool mayEnd);
  void writeFour(const Matrix &matrix, Value row, Value column, Value four);
  Value place(const Tile &tile, Value row, Value column) {
    return at(tile.data, add(mul(row, tile.stride), column), b.getF32Type());
  }
  Value readFour(const Tile &tile, Value row, Value column) {
    return load(four, place(tile, row, column), 16);
  }

  mlir::Type four;
};

} // namespace accum::codegen
