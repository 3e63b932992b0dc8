// SPDX-License-Identifier: Apache-2.0
// Arithmetic on shapes whose extents may be multiples of the batch size.
#include "compiler/Import/content/Extent.h"
#include "llvm/ADT/STLExtras.h"

namespace accum::import {

llvm::SmallVector<int64_t> slabOf(llvm::ArrayRef<Extent> shape) {
  return llvm::map_to_vector(shape, [](Extent e) { return e.count; });
}

llvm::SmallVector<int64_t> batchAxes(llvm::ArrayRef<Extent> shape) {
  llvm::SmallVector<int64_t> axes;
  for (auto [i, extent] : llvm::enumerate(shape))
    if (extent.batched)
      axes.push_back(static_cast<int64_t>(i));
  return axes;
}

static std::string toString(Extent extent) {
  if (!extent.batched)
    return std::to_string(extent.count);
  return extent.count == 1 ? "N" : std::to_string(extent.count) + "*N";
}

std::string toString(llvm::ArrayRef<Extent> shape) {
  std::string text = "[";
  for (Extent extent : shape)
    text += (text.size() > 1 ? ", " : "") + toString(extent);
  return text + "]";
}

Shape staticShape(llvm::ArrayRef<int64_t> sizes) {
  return Shape(llvm::map_range(sizes, [](int64_t size) { return Extent::fixed(size); }));
}

Shape dropAxes(llvm::ArrayRef<Extent> shape, llvm::ArrayRef<int64_t> axes, bool keepAsOnes) {
  Shape result;
  for (auto [i, extent] : llvm::enumerate(shape)) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      result.push_back(extent);
    else if (keepAsOnes)
      result.push_back(Extent::fixed(1));
  }
  return result;
}

std::optional<Shape> broadcast(llvm::ArrayRef<Extent> a, llvm::ArrayRef<Extent> b, Extent *left,
                               Extent *right) {
  if (a.size() < b.size())
    return broadcast(b, a, right, left);
  Shape result(a);
  for (auto [i, extent] : llvm::enumerate(b)) {
    Extent &out = result[a.size() - b.size() + i];
    if (out == extent || extent.isOne())
      continue;
    if (!out.isOne()) {
      if (left)
        *left = out;
      if (right)
        *right = extent;
      return std::nullopt;
    }
    out = extent;
  }
  return result;
}

Volume volumeOf(llvm::ArrayRef<Extent> shape) {
  Volume volume;
  for (Extent extent : shape) {
    volume.count *= extent.count;
    volume.power += extent.batched;
  }
  return volume;
}

} // namespace accum::import
