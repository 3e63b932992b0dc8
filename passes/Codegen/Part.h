// SPDX-License-Identifier: Apache-2.0
// A kernel's results, grouped by the loops that compute them.
//
// A part owns whole elements of its results: each is written once, by one row of one part, so rows can run in
// any order and on any thread, and bits depend on neither. A kernel runs the rows of its parts one part
// behind the other.
#pragma once

#include "passes/Codegen/Emitter.h"

namespace accum::codegen {

/// One result: where it goes, and what it is.
struct Root {
  mlir::Value value;   ///< reshapes peeled off
  mlir::Value pointer; ///< of the result
  bool adds = false;   ///< added to the memory except in the first micro-step
  mlir::Value first;   ///< i1, known at the kernel's entry; null where nothing is added
  int64_t pitch = 0;   ///< of the result's rows (RowPitch.h)

  mlir::RankedTensorType type() const { return mlir::cast<mlir::RankedTensorType>(value.getType()); }
  Buffer buffer() const { return {pointer, type(), pitch}; }
  /// Writes an element, or adds it.
  void write(Emitter &emitter, mlir::ArrayRef<Index> at, Mask mask, Element what, Scope *scope) const;
};

/// What a vector along `axis` of `value` would do in the reductions below it.
enum class LaneUse {
  Free,    ///< nothing is reduced per element
  PerLane, ///< lanes stay apart while another axis is reduced, e.g. sums of columns
  Across   ///< the reduced axis is the contiguous one: better to have vectors there
};
LaneUse laneUseOf(mlir::Value value, int64_t axis);

/// How a GPU runs a part: `items` pieces of work, each by one team of threads.
struct Spread {
  enum Kind {
    Thread, ///< an item is one thread's
    Warp,   ///< 32 threads share it
    Block,  ///< all threads of a block share it
    Columns ///< threads side by side have items side by side, threads behind each other share one
  };
  Kind kind = Thread;
  int64_t items = 0;
  int64_t threads = 0; ///< of a block, where the part knows better than the kernel's frame; else 0
};

/// Some of the columns of a part's rows.
struct Columns {
  int64_t first = 0, count = 1;
};

class Part {
public:
  virtual ~Part() = default;
  virtual int64_t rows() const = 0;
  /// Vector width to write it with, given the machine's for f32 (1: scalar code).
  virtual int64_t lanes(int64_t machine) const = 0;
  virtual void emitRow(Emitter &emitter, Scope *scope, Index row) const = 0;
  /// On a GPU. By default a row is one thread's.
  virtual Spread spread() const { return {Spread::Thread, rows()}; }
  /// Of threads' parts an item is as many neighbours as the emitter has lanes, of the columns `among`.
  virtual void emitItem(Emitter &emitter, Scope *scope, Index item, Columns) const {
    emitRow(emitter, scope, item);
  }
  /// Neighbours that a GPU's thread computes at once, if their operands lie side by side, too.
  virtual int64_t threadLanes() const { return 1; }
  /// Elements of a row, of which items are made. What is left behind its last whole vector is dealt out
  /// apart.
  virtual int64_t columns() const { return 1; }
};

/// What code is made for.
struct Machine {
  int64_t lanes = 1; ///< f32 in a vector; 1: scalar code, one chunk
  bool gpu = false;
};

/// The parts of a kernel with these results.
std::vector<std::unique_ptr<Part>> partsOf(mlir::ArrayRef<Root> roots, Machine machine);

/// A GPU's part for all results of a kernel, some of them sums over tiles of rows (TileSum.h) and the others
/// of those rows; null where they are not of that kind.
std::unique_ptr<Part> makeTilePart(mlir::ArrayRef<Root> roots);
std::unique_ptr<Part> makeMapPart(std::vector<Root> roots, Machine machine);
std::unique_ptr<Part> makeScatterPart(const Root &root, nn::ScatterAddOp op, Machine machine);
std::unique_ptr<Part> makeScatterElementsPart(const Root &root, nn::ScatterElementsAddOp op);
std::unique_ptr<Part> makeCumSumPart(const Root &root, nn::CumSumOp op);

/// Elements of a shape.
inline int64_t product(mlir::ArrayRef<int64_t> shape) {
  int64_t size = 1;
  for (int64_t extent : shape)
    size *= extent;
  return size;
}

/// The extents other than 1, which alone say how memory lies.
mlir::SmallVector<int64_t> significant(mlir::ArrayRef<int64_t> shape);

/// Of a row of `columns` elements, those that a GPU's thread has beside each other: 16 bytes of f32, the most
/// that it moves at once, or of 16-bit floats where these results are made of such; 1 where rows are no
/// multiple of that, unless `anyWidth`.
int64_t sideLanes(mlir::ArrayRef<Root> roots, int64_t columns, bool anyWidth = false);

/// Whether a kernel's operand that `value` is made of has rows of `columns` elements that lie a pitch apart.
bool readsPadded(mlir::Value value, int64_t columns);

/// The last axis of more than one element; -1 where there is none.
int64_t lastAxis(mlir::RankedTensorType type);

/// Adds to what memory holds: used where several updates meet in one element.
void addTo(Emitter &emitter, const Buffer &buffer, mlir::ArrayRef<Index> at, Mask mask, Element what,
           Scope *scope);

} // namespace accum::codegen
