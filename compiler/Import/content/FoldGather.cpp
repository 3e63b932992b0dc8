// SPDX-License-Identifier: Apache-2.0
// Folding of known values: indexed reads, and positions to read.
#include "compiler/Import/content/Content.h"
#include "llvm/ADT/STLExtras.h"

namespace accum::import {
using Index = llvm::SmallVector<int64_t, 6>;

/// A position on an axis of `extent` slab elements that is the same in every sample.
static std::optional<int64_t> position(const Element &index, int64_t extent) {
  int64_t place = index.constant < 0 ? index.constant + extent : index.constant;
  if (!index.isConstant() || place < 0 || place >= extent)
    return std::nullopt;
  return place;
}

/// The slab position on the batch axis of `input` (outer x N x rows) that an index means, where it names a
/// row of its own sample: perIndex = rows, perBatch = block * rows, 0 <= constant < rows.
static std::optional<int64_t> localPosition(const Content &input, const Element &index) {
  int64_t extent = input.slab[input.batchAxis], rows = extent / input.outer;
  int64_t block = index.perBatch / rows;
  if (index.perIndex != rows || index.perBatch % rows != 0 || block < 0 || block >= input.outer ||
      index.constant < 0 || index.constant >= rows)
    return std::nullopt;
  return block * rows + index.constant;
}

static std::optional<int64_t> positionOn(const Content &input, int64_t axis, const Element &index) {
  if (axis == input.batchAxis)
    return localPosition(input, index);
  return position(index, input.slab[axis]);
}

/// Input and indices share one batch: the result's axis and outer factor, when both or one are batched.
static bool canPair(const Content &input, const Content &indices, bool readsBatchAxis) {
  if (input.batchAxis >= 0 && indices.batchAxis >= 0)
    return readsBatchAxis;
  return !readsBatchAxis;
}

Folded foldGather(const Content &input, const Content &indices, int64_t axis) {
  if (!canPair(input, indices, axis == input.batchAxis))
    return std::nullopt;
  Shape shape = input.shape(), picks = indices.shape();
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, picks.begin(), picks.end());
  if (batchAxes(shape).size() > 1 || !isFoldable(shape))
    return std::nullopt;
  int64_t outer = indices.batchAxis >= 0 ? indices.outer : input.outer;
  std::vector<Element> elements;
  Index index(shape.size(), 0), source(input.slab.size()), slab(slabOf(shape));
  int64_t rank = indices.rank();
  for (bool more = !llvm::is_contained(slab, 0); more; more = advance(index, slab)) {
    auto place = positionOn(input, axis, indices.at(llvm::ArrayRef(index).slice(axis, rank)));
    if (!place)
      return std::nullopt;
    source[axis] = *place;
    for (int64_t d = 0; d < input.rank(); ++d)
      if (d != axis)
        source[d] = index[d < axis ? d : d + rank - 1];
    elements.push_back(input.at(source));
  }
  return Content::dense(input.dtype, shape, std::move(elements), outer);
}

Folded foldGatherND(const Content &input, const Content &indices) {
  int64_t depth = indices.slab.back(), rank = indices.rank() - 1;
  if (!canPair(input, indices, input.batchAxis >= 0 && input.batchAxis < depth))
    return std::nullopt;
  Shape shape(llvm::ArrayRef(indices.shape()).drop_back()), rest = input.shape();
  shape.append(rest.begin() + depth, rest.end());
  if (!isFoldable(shape))
    return std::nullopt;
  std::vector<Element> elements;
  Index index(shape.size(), 0), source(input.slab.size()), slab(slabOf(shape));
  for (bool more = !llvm::is_contained(slab, 0); more; more = advance(index, slab)) {
    Index row(llvm::ArrayRef(index).take_front(rank));
    row.push_back(0);
    for (int64_t k = 0; k < depth; ++k) {
      row.back() = k;
      auto place = positionOn(input, k, indices.at(row));
      if (!place)
        return std::nullopt;
      source[k] = *place;
    }
    for (int64_t d = depth; d < input.rank(); ++d)
      source[d] = index[rank + d - depth];
    elements.push_back(input.at(source));
  }
  return Content::dense(input.dtype, shape, std::move(elements),
                        indices.batchAxis >= 0 ? indices.outer : input.outer);
}

Folded foldGatherElements(const Content &input, const Content &indices, int64_t axis) {
  if (!isFoldable(indices.shape()) || input.batchAxis != indices.batchAxis || input.outer != indices.outer ||
      axis == input.batchAxis)
    return std::nullopt;
  std::vector<Element> elements;
  Index index(indices.slab.size(), 0);
  for (bool more = indices.size() > 0; more; more = advance(index, indices.slab)) {
    auto place = position(indices.at(index), input.slab[axis]);
    if (!place)
      return std::nullopt;
    Index source(index);
    source[axis] = *place;
    elements.push_back(input.at(source));
  }
  return Content::dense(input.dtype, indices.shape(), std::move(elements), indices.outer);
}

/// Samples lie behind one another in row-major order: the batch axis has one block, and none but ones before
/// it.
static bool isLedByBatch(const Content &input) {
  auto before = llvm::ArrayRef(input.slab).take_front(std::max<int64_t>(input.batchAxis, 0));
  return input.outer == 1 && llvm::all_of(before, [](int64_t size) { return size == 1; });
}

Folded foldNonZero(const Content &input) {
  if (!input.isConstant() || !isLedByBatch(input))
    return std::nullopt;
  std::vector<Index> found;
  Index index(input.slab.size(), 0);
  for (bool more = input.size() > 0; more; more = advance(index, input.slab)) {
    const Element &element = input.at(index);
    if (isFloat(input.dtype) ? element.real != 0 : element.constant != 0)
      found.push_back(index);
  }
  bool isOfBatch = input.batchAxis >= 0;
  if (isOfBatch && found.empty())
    return std::nullopt;
  std::vector<Element> positions;
  for (int64_t axis = 0; axis < input.rank(); ++axis)
    for (const Index &place : found)
      positions.push_back(Element::integer(place[axis], axis == input.batchAxis ? input.slab[axis] : 0));
  auto count = static_cast<int64_t>(found.size());
  return Content::dense(
      DType::Int64, {Extent::fixed(input.rank()), isOfBatch ? Extent::ofBatch(count) : Extent::fixed(count)},
      std::move(positions));
}

} // namespace accum::import
