// SPDX-License-Identifier: Apache-2.0
// Sizes of axes: static, or a multiple of the batch size N.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <string>

namespace accum::import {

/// An extent: `count`, or `count * N` when `batched`. Nothing else exists after import: a + b*N with both
/// parts is refused where it would become the extent of a tensor.
struct Extent {
  int64_t count = 0;
  bool batched = false;

  static Extent fixed(int64_t count) { return {count, false}; }
  static Extent ofBatch(int64_t count) { return {count, true}; }
  bool isOne() const { return count == 1 && !batched; }
  bool operator==(const Extent &) const = default;
};
using Shape = llvm::SmallVector<Extent, 6>;

/// The shape of one sample: every extent's count.
llvm::SmallVector<int64_t> slabOf(llvm::ArrayRef<Extent> shape);
/// Positions of the batched extents, ascending.
llvm::SmallVector<int64_t> batchAxes(llvm::ArrayRef<Extent> shape);
/// "[N, 16, 32]", "[16*N, 97]".
std::string toString(llvm::ArrayRef<Extent> shape);
Shape staticShape(llvm::ArrayRef<int64_t> sizes);
/// Without the axes (ascending or not), or with them as ones.
Shape dropAxes(llvm::ArrayRef<Extent> shape, llvm::ArrayRef<int64_t> axes, bool keepAsOnes = false);

/// Right-aligned broadcast. Nothing where extents differ and none is a static 1; then `left` and `right`
/// (when given) are the two that do not meet.
std::optional<Shape> broadcast(llvm::ArrayRef<Extent> a, llvm::ArrayRef<Extent> b, Extent *left = nullptr,
                               Extent *right = nullptr);

/// Product of extents: count * N^power.
struct Volume {
  int64_t count = 1;
  int power = 0;
  bool operator==(const Volume &) const = default;
};
Volume volumeOf(llvm::ArrayRef<Extent> shape);

} // namespace accum::import
