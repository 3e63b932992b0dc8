// SPDX-License-Identifier: Apache-2.0
// Where samples meet, values of pairs of samples in tiles of rows.
#pragma once

#include "passes/Differentiate/Backward.h"
#include "passes/Differentiate/TileRanges.h"
#include "llvm/ADT/SetVector.h"

namespace accum {

/// What runs once on the whole batch, with values of N x N numbers (scores, distances) in tiles of rows:
/// these never stand whole. The loss reads them through *outputs*: sums over an axis of samples, to which
/// each tile adds a term, and values of each sample, of which each tile has some rows. What sums columns
/// tiles the columns: its scores are computed a second time. Where something needs all of them at once, the
/// graph stays as it is.
class MeetingTiles {
public:
  /// Rewrites the forward ops of `block`, which has no terminator yet, and returns its loss. `batch`:
  /// samples; `rows`: of a tile. Batches of less than two tiles stay as they are.
  mlir::Value build(mlir::Block &block, mlir::Value loss, int64_t batch, int64_t rows);

  /// Goes back from what `backward` is seeded with to all that enters `block`. A tile is differentiated right
  /// after it is computed where the cotangents of the outputs are known before, as they are where the loss is
  /// linear in them; else it is computed again.
  mlir::LogicalResult differentiate(Backward &backward, mlir::OpBuilder &builder,
                                    mlir::DenseSet<mlir::Value> &active);

private:
  /// Rows of a value that is there as a whole.
  struct Cut {
    mlir::Value whole;
    Range range;
    mlir::Value part;
  };
  struct Tile {
    mlir::SmallVector<mlir::Operation *> ops; ///< in their order, without those of cuts
    mlir::SmallVector<Cut> cuts;
    mlir::SmallVector<mlir::Value> outputs; ///< a term or some rows of each output
    mlir::Operation *last = nullptr;
  };
  /// Of the graph, along an axis of its own, or of what it sums.
  struct Output {
    mlir::Value value;
    bool isSum;
    int64_t axis;
    mlir::Value combined; ///< what is read instead
  };
  /// Outputs along axes of the same extent, which share their tiles.
  struct Family {
    int64_t extent;
    mlir::SmallVector<Output> outputs;
    mlir::SmallVector<Tile> tiles;
  };
  struct PartBuilder;
  struct Gathered;

  void findPairs(int64_t batch);
  bool fits(mlir::Value value, Range range) const;
  bool hasPart(mlir::Value value, Range range) const;
  bool hasTiles(mlir::Value value, int64_t axis) const;
  size_t tilesOf(int64_t extent) const;
  Range rangeOf(int64_t extent, size_t tile, int64_t axis) const;
  bool settle(mlir::Value value);
  bool settleSum(mlir::Operation *op);
  bool settleRows(mlir::Value value);
  void addOutput(mlir::Value value, bool isSum, int64_t axis, int64_t extent);
  Tile buildTile(mlir::OpBuilder &builder, const Family &family, size_t number, bool again) const;
  void buildFamily(mlir::OpBuilder &builder, Family &family);
  bool dependOnTiles(mlir::ArrayRef<mlir::Value> values, mlir::DenseSet<mlir::Operation *> &needed) const;
  static mlir::LogicalResult visitTile(const Tile &tile, Backward &backward, Gathered &gathered);
  mlir::LogicalResult differentiate(Family &family, Backward &backward, mlir::OpBuilder &builder,
                                    mlir::DenseSet<mlir::Value> &active);

  mlir::Block *block = nullptr;
  int64_t rows = 0;
  mlir::DenseMap<mlir::Value, uint32_t> sampleAxes; ///< a bit an axis
  mlir::DenseSet<mlir::Value> pairs;                ///< values with two axes of samples
  mlir::DenseSet<mlir::Value> heavy;                ///< pairs, and what is computed from them
  mlir::DenseSet<mlir::Value> wide;                 ///< as large as pairs, of no sample
  mlir::DenseMap<mlir::Value, bool> settled;        ///< heavy values that are there as a whole
  mutable mlir::DenseMap<std::tuple<mlir::Value, int64_t, int64_t, int64_t>, bool> parts; ///< hasPart's
  mlir::SmallVector<mlir::Operation *> before; ///< ops that need no tiles
  llvm::SetVector<mlir::Operation *> after;    ///< ops that follow them
  llvm::SetVector<mlir::Operation *> made;     ///< those of the tiles
  mlir::SmallVector<Family, 2> families;
};

} // namespace accum
