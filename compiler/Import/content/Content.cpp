// SPDX-License-Identifier: Apache-2.0
// Strided storage of known values.
#include "compiler/Import/content/Content.h"
#include "llvm/ADT/STLExtras.h"

namespace accum::import {

bool advance(llvm::MutableArrayRef<int64_t> index, llvm::ArrayRef<int64_t> sizes) {
  for (size_t d = sizes.size(); d-- > 0;) {
    if (++index[d] < sizes[d])
      return true;
    index[d] = 0;
  }
  return false;
}

bool isFoldable(llvm::ArrayRef<Extent> shape) {
  int64_t elements = 1;
  for (Extent extent : shape)
    if (__builtin_mul_overflow(elements, std::max<int64_t>(extent.count, 1), &elements))
      return false;
  return elements <= largestContent;
}

static void setShape(Content &content, llvm::ArrayRef<Extent> shape) {
  for (auto [i, extent] : llvm::enumerate(shape)) {
    content.slab.push_back(extent.count);
    if (extent.batched)
      content.batchAxis = static_cast<int64_t>(i);
  }
}

Content Content::dense(DType dtype, llvm::ArrayRef<Extent> shape, std::vector<Element> elements,
                       int64_t outer) {
  Content content;
  content.dtype = dtype;
  setShape(content, shape);
  content.outer = outer;
  content.data = std::make_shared<const std::vector<Element>>(std::move(elements));
  content.strides.resize(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= content.slab[d])
    content.strides[d] = stride;
  return content;
}

Content Content::splat(DType dtype, llvm::ArrayRef<Extent> shape, Element element) {
  Content content;
  content.dtype = dtype;
  setShape(content, shape);
  content.data = std::make_shared<const std::vector<Element>>(1, element);
  content.strides.assign(shape.size(), 0);
  return content;
}

Shape Content::shape() const {
  Shape result = staticShape(slab);
  if (batchAxis >= 0)
    result[batchAxis].batched = true;
  return result;
}

int64_t Content::size() const {
  int64_t count = 1;
  for (int64_t extent : slab)
    count *= extent;
  return count;
}

const Element &Content::at(llvm::ArrayRef<int64_t> index) const {
  int64_t position = offset;
  for (auto [i, stride] : llvm::zip_equal(index, strides))
    position += i * stride;
  return (*data)[position];
}

void Content::forEach(llvm::function_ref<void(const Element &)> body) const {
  if (size() == 0)
    return;
  llvm::SmallVector<int64_t, 6> index(slab.size());
  do
    body(at(index));
  while (advance(index, slab));
}

std::vector<Element> Content::flatten() const {
  std::vector<Element> elements;
  elements.reserve(size());
  forEach([&](const Element &element) { elements.push_back(element); });
  return elements;
}

llvm::ArrayRef<Element> Content::inOrder() const {
  int64_t step = 1;
  for (auto [extent, stride] : llvm::reverse(llvm::zip_equal(slab, strides))) {
    if (extent != 1 && stride != step)
      return {};
    step *= extent;
  }
  return llvm::ArrayRef(*data).slice(offset, size());
}

/// The axes along which elements differ at all: the others are stride 0 or have one element.
static llvm::SmallVector<int64_t, 6> storedSizes(const Content &content) {
  llvm::SmallVector<int64_t, 6> sizes(content.slab);
  for (auto [size, stride] : llvm::zip_equal(sizes, content.strides))
    if (stride == 0)
      size = std::min<int64_t>(size, 1);
  return sizes;
}

static bool allOf(const Content &content, llvm::function_ref<bool(const Element &)> test) {
  if (content.size() == 0)
    return true;
  llvm::SmallVector<int64_t, 6> sizes = storedSizes(content), index(sizes.size());
  do {
    if (!test(content.at(index)))
      return false;
  } while (advance(index, sizes));
  return true;
}

bool Content::isUniform() const {
  return size() > 0 && allOf(*this, [&](const Element &e) { return sameElement(e, only()); });
}

bool Content::isConstant() const {
  return isFloat(dtype) || allOf(*this, [](const Element &e) { return e.isConstant(); });
}

} // namespace accum::import
