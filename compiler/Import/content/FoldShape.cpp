// SPDX-License-Identifier: Apache-2.0
// Folding of known values: data movement.
#include "compiler/Import/content/Content.h"
#include "llvm/ADT/STLExtras.h"

namespace accum::import {
using Index = llvm::SmallVector<int64_t, 6>;

static int64_t product(llvm::ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

/// The outer factor of the target's batch axis: with P = outer * (elements before the batch axis) and p the
/// elements before the target's, p divides P and the quotient divides the target's extent. Nothing where the
/// reshape mixes samples.
static std::optional<int64_t> reshapedOuter(const Content &input, llvm::ArrayRef<Extent> target,
                                            int64_t targetAxis) {
  int64_t before = input.outer * product(llvm::ArrayRef(input.slab).take_front(input.batchAxis));
  llvm::SmallVector<int64_t> slab = slabOf(target);
  int64_t ahead = product(llvm::ArrayRef(slab).take_front(targetAxis));
  if (ahead == 0 || before % ahead != 0 || slab[targetAxis] % (before / ahead) != 0)
    return std::nullopt;
  return before / ahead;
}

Folded foldReshape(const Content &input, llvm::ArrayRef<Extent> target) {
  llvm::SmallVector<int64_t> axes = batchAxes(target);
  if (axes.size() != (input.batchAxis >= 0 ? 1u : 0u))
    return std::nullopt;
  int64_t outer = 1;
  if (!axes.empty()) {
    std::optional<int64_t> folded = reshapedOuter(input, target, axes.front());
    if (!folded)
      return std::nullopt;
    outer = *folded;
  }
  if (input.isUniform()) {
    Content result = Content::splat(input.dtype, target, input.only());
    result.outer = outer;
    return result;
  }
  if (!isFoldable(target))
    return std::nullopt;
  return Content::dense(input.dtype, target, input.flatten(), outer);
}

Folded foldTranspose(const Content &input, llvm::ArrayRef<int64_t> perm) {
  Content result = input;
  for (auto [to, from] : llvm::enumerate(perm)) {
    result.slab[to] = input.slab[from];
    result.strides[to] = input.strides[from];
    if (from == input.batchAxis)
      result.batchAxis = static_cast<int64_t>(to);
  }
  return result;
}

Folded foldBroadcast(const Content &input, llvm::ArrayRef<Extent> target) {
  llvm::SmallVector<int64_t> axes = batchAxes(target);
  if (axes.size() > 1)
    return std::nullopt;
  size_t shift = target.size() - input.slab.size();
  Content result = Content::splat(input.dtype, target, Element());
  result.data = input.data; // empty, maybe
  result.offset = input.offset;
  for (size_t d = 0; d < input.slab.size(); ++d)
    result.strides[shift + d] = input.slab[d] == 1 ? 0 : input.strides[d];
  if (input.batchAxis >= 0)
    result.outer = input.outer;
  return result;
}

Folded foldSlice(const Content &input, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> steps,
                 llvm::ArrayRef<int64_t> counts) {
  Content result = input;
  for (size_t d = 0; d < input.slab.size(); ++d) {
    bool whole = starts[d] == 0 && steps[d] == 1 && counts[d] == input.slab[d];
    if (static_cast<int64_t>(d) == input.batchAxis && !whole)
      return std::nullopt;
    result.slab[d] = counts[d];
    if (counts[d] > 0)
      result.offset += starts[d] * input.strides[d];
    result.strides[d] = input.strides[d] * steps[d];
  }
  return result;
}

/// Operands of a concatenation on another axis than the batch: they agree in all other extents and on where
/// the batch is.
static bool agreeOnBatch(llvm::ArrayRef<const Content *> inputs, int64_t axis) {
  Shape common = dropAxes(inputs[0]->shape(), {axis});
  return llvm::all_of(inputs, [&](const Content *input) {
    return dropAxes(input->shape(), {axis}) == common && input->batchAxis == inputs[0]->batchAxis &&
           input->outer == inputs[0]->outer && input->batchAxis != axis;
  });
}

Folded foldConcat(llvm::ArrayRef<const Content *> inputs, int64_t axis) {
  if (!agreeOnBatch(inputs, axis))
    return std::nullopt;
  Shape shape = inputs[0]->shape();
  shape[axis].count = 0;
  for (const Content *input : inputs)
    shape[axis].count += input->slab[axis];
  if (!isFoldable(shape))
    return std::nullopt;
  Content result = Content::dense(inputs[0]->dtype, shape, {}, inputs[0]->outer);
  std::vector<Element> elements(result.size());
  int64_t base = 0;
  for (const Content *input : inputs) {
    Index index(input->slab.size(), 0);
    for (bool more = input->size() > 0; more; more = advance(index, input->slab)) {
      int64_t place = base;
      for (size_t d = 0; d < index.size(); ++d)
        place += index[d] * result.strides[d];
      elements[place] = input->at(index);
    }
    base += input->slab[axis] * result.strides[axis];
  }
  return Content::dense(result.dtype, shape, std::move(elements), result.outer);
}

Folded foldPad(const Content &input, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high,
               const Element &value) {
  Shape shape = input.shape();
  for (size_t d = 0; d < shape.size(); ++d) {
    if (static_cast<int64_t>(d) == input.batchAxis && (low[d] != 0 || high[d] != 0))
      return std::nullopt;
    shape[d].count += low[d] + high[d];
    if (low[d] < 0 || high[d] < 0)
      return std::nullopt;
  }
  if (!isFoldable(shape))
    return std::nullopt;
  Content result = Content::dense(input.dtype, shape, {}, input.outer);
  std::vector<Element> elements(result.size(), value);
  Index index(input.slab.size(), 0);
  for (bool more = input.size() > 0; more; more = advance(index, input.slab)) {
    int64_t place = 0;
    for (size_t d = 0; d < index.size(); ++d)
      place += (index[d] + low[d]) * result.strides[d];
    elements[place] = input.at(index);
  }
  return Content::dense(input.dtype, shape, std::move(elements), input.outer);
}

} // namespace accum::import
