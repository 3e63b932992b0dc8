// SPDX-License-Identifier: Apache-2.0
// Rules that make large known tables.
#include "compiler/Import/content/TablePatterns.h"
#include "llvm/ADT/STLExtras.h"

namespace accum::import {

std::optional<Ramp> rampOf(llvm::ArrayRef<int64_t> slab, llvm::ArrayRef<Element> elements) {
  Ramp ramp;
  int64_t inner = 1, moving = 0;
  for (auto [axis, extent] : llvm::enumerate(slab))
    if (extent > 1) {
      ramp.axis = static_cast<int64_t>(axis);
      ++moving;
    }
  if (moving != 1)
    return std::nullopt;
  for (int64_t extent : slab.drop_front(ramp.axis + 1))
    inner *= extent;
  ramp.start = elements[0].constant;
  ramp.step = elements[inner].constant - ramp.start;
  for (auto [i, element] : llvm::enumerate(elements))
    if (!element.isConstant() || element.constant != ramp.start + ramp.step * static_cast<int64_t>(i))
      return std::nullopt;
  return ramp;
}

/// k such that `test` holds exactly where column < row + k, in one matrix.
static std::optional<int64_t> diagonalOf(llvm::ArrayRef<int64_t> slab, llvm::ArrayRef<Element> elements,
                                         const Element &lower) {
  auto rank = static_cast<int64_t>(slab.size());
  if (rank < 2 || static_cast<int64_t>(elements.size()) != slab[rank - 1] * slab[rank - 2])
    return std::nullopt;
  int64_t columns = slab[rank - 1], diagonal = 1 - slab[rank - 2];
  for (int64_t i = 0; i < static_cast<int64_t>(elements.size()); ++i)
    if (sameElement(elements[i], lower))
      diagonal = std::max(diagonal, i % columns - i / columns + 1);
  for (int64_t i = 0; i < static_cast<int64_t>(elements.size()); ++i)
    if (sameElement(elements[i], lower) != (i % columns < i / columns + diagonal))
      return std::nullopt;
  return diagonal;
}

std::optional<TwoValues> twoValuesOf(llvm::ArrayRef<int64_t> slab, llvm::ArrayRef<Element> elements) {
  // The first value is that of the last row's first column: below any diagonal.
  size_t corner = slab.size() < 2 ? 0 : elements.size() - static_cast<size_t>(slab.back());
  TwoValues two;
  two.first = elements[corner];
  const Element *other =
      llvm::find_if(elements, [&](const Element &e) { return !sameElement(e, two.first); });
  if (other == elements.end())
    return std::nullopt;
  two.second = *other;
  if (!llvm::all_of(elements, [&](const Element &e) {
        return sameElement(e, two.first) || sameElement(e, two.second);
      }))
    return std::nullopt;
  two.diagonal = diagonalOf(slab, elements, two.first);
  if (!two.diagonal)
    for (const Element &e : elements)
      two.isFirst.push_back(Element::integer(sameElement(e, two.first)));
  return two;
}

} // namespace accum::import
