// SPDX-License-Identifier: Apache-2.0
// Folding of known values: elementwise functions, casts, scans, reductions, ranges.
#include "compiler/Import/content/Content.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

namespace accum::import {
using nn::ElementwiseFn;
using nn::ReduceKind;
using Index = llvm::SmallVector<int64_t, 6>;

/// The shape of operands broadcast against each other; at most one batch axis, laid out the same in all.
static std::optional<Shape> commonShape(llvm::ArrayRef<const Content *> operands, int64_t &outer) {
  Shape shape;
  outer = 0;
  for (const Content *operand : operands) {
    std::optional<Shape> next = broadcast(shape, operand->shape());
    if (!next || batchAxes(*next).size() > 1)
      return std::nullopt;
    shape = std::move(*next);
    if (operand->batchAxis < 0)
      continue;
    if (outer != 0 && outer != operand->outer)
      return std::nullopt;
    outer = operand->outer;
  }
  outer = std::max<int64_t>(outer, 1);
  return shape;
}

/// Strides of `operand` under a shape of that rank.
static Index alignedStrides(const Content &operand, size_t rank) {
  Index strides(rank, 0);
  size_t shift = rank - operand.slab.size();
  for (size_t d = 0; d < operand.slab.size(); ++d)
    strides[shift + d] = operand.slab[d] == 1 ? 0 : operand.strides[d];
  return strides;
}

/// Axes along which no operand moves are computed once.
static Index movingSizes(llvm::ArrayRef<Index> strides, llvm::ArrayRef<int64_t> slab) {
  Index sizes(slab);
  for (size_t d = 0; d < slab.size(); ++d)
    if (llvm::all_of(strides, [&](const Index &s) { return s[d] == 0; }))
      sizes[d] = std::min<int64_t>(slab[d], 1);
  return sizes;
}

static Content withStored(DType dtype, const Shape &shape, int64_t outer, std::vector<Element> elements,
                          llvm::ArrayRef<int64_t> stored) {
  Content content = Content::dense(dtype, shape, std::move(elements), outer);
  int64_t stride = 1;
  for (size_t d = stored.size(); d-- > 0; stride *= stored[d])
    content.strides[d] = stored[d] == 1 ? 0 : stride;
  return content;
}

Folded foldElementwise(ElementwiseFn fn, llvm::ArrayRef<const Content *> operands, int64_t most) {
  int64_t outer = 1;
  std::optional<Shape> shape = commonShape(operands, outer);
  if (!shape)
    return std::nullopt;
  llvm::SmallVector<Index, 3> strides;
  for (const Content *operand : operands)
    strides.push_back(alignedStrides(*operand, shape->size()));
  DType type = operands.back()->dtype;
  Index slab(slabOf(*shape)), stored = movingSizes(strides, slab), index(slab.size(), 0);
  if (!isFoldable(staticShape(stored)) || mlir::ShapedType::getNumElements(stored) > most)
    return std::nullopt;
  std::vector<Element> elements;
  bool isEmpty = llvm::is_contained(slab, 0);
  llvm::SmallVector<Element, 3> values(operands.size());
  while (!isEmpty) {
    for (size_t k = 0; k < operands.size(); ++k) {
      int64_t position = operands[k]->offset;
      for (size_t d = 0; d < index.size(); ++d)
        position += index[d] * strides[k][d];
      values[k] = (*operands[k]->data)[position];
    }
    std::optional<Element> value = evaluate(fn, type, values);
    if (!value)
      return std::nullopt;
    elements.push_back(*value);
    isEmpty = !advance(index, stored);
  }
  return withStored(givesBool(fn) ? DType::Bool : type, *shape, outer, std::move(elements), stored);
}

Folded foldCast(const Content &input, DType to) {
  Content result = input;
  result.dtype = to;
  std::vector<Element> elements;
  elements.reserve(input.data->size());
  if (input.size() == 0)
    return result;
  // All stored elements are converted, also those outside a slice: one that does not convert drops the fold
  // unless it is not part of the value.
  for (const Element &element : *input.data) {
    std::optional<Element> value = convert(element, input.dtype, to);
    if (!value)
      return std::nullopt;
    elements.push_back(*value);
  }
  result.data = std::make_shared<const std::vector<Element>>(std::move(elements));
  return result;
}

Folded foldCumSum(const Content &input, int64_t axis, bool exclusive, bool reverse) {
  if (axis == input.batchAxis || !isFoldable(input.shape()) || input.size() == 0)
    return std::nullopt;
  std::vector<Element> elements = input.flatten();
  int64_t inner = 1, length = input.slab[axis];
  for (int64_t extent : llvm::ArrayRef(input.slab).drop_front(axis + 1))
    inner *= extent;
  Element zero = isFloat(input.dtype) ? Element::floating(0) : Element::integer(0);
  for (int64_t start = 0; start < static_cast<int64_t>(elements.size()); ++start) {
    if (start / inner % length != 0)
      continue;
    Element sum = zero;
    for (int64_t j = 0; j < length; ++j) {
      Element &place = elements[start + (reverse ? length - 1 - j : j) * inner];
      std::optional<Element> next = evaluate(ElementwiseFn::add, input.dtype, {sum, place});
      if (!next)
        return std::nullopt;
      place = exclusive ? sum : *next;
      sum = *next;
    }
  }
  return Content::dense(input.dtype, input.shape(), std::move(elements), input.outer);
}

static ElementwiseFn combiner(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::sum:
    return ElementwiseFn::add;
  case ReduceKind::max:
    return ElementwiseFn::max;
  case ReduceKind::min:
    return ElementwiseFn::min;
  case ReduceKind::prod:
    return ElementwiseFn::mul;
  }
  llvm_unreachable("all kinds handled");
}

Folded foldReduce(ReduceKind kind, const Content &input, llvm::ArrayRef<int64_t> axes) {
  if (llvm::is_contained(axes, input.batchAxis) || !isFoldable(input.shape()) || input.size() == 0)
    return std::nullopt;
  Shape shape = dropAxes(input.shape(), axes, /*keepAsOnes=*/true);
  Content result = Content::dense(input.dtype, shape, {}, input.outer);
  std::vector<std::optional<Element>> sums(result.size());
  Index index(input.slab.size(), 0);
  do {
    int64_t place = 0;
    for (size_t d = 0; d < index.size(); ++d)
      place += result.slab[d] == 1 ? 0 : index[d] * result.strides[d];
    const Element &element = input.at(index);
    if (!sums[place])
      sums[place] = element;
    else if (!(sums[place] = evaluate(combiner(kind), input.dtype, {*sums[place], element})))
      return std::nullopt;
  } while (advance(index, input.slab));
  std::vector<Element> elements;
  for (const std::optional<Element> &sum : sums)
    elements.push_back(*sum);
  return Content::dense(input.dtype, shape, std::move(elements), input.outer);
}

Folded foldTrilu(const Content &input, int64_t diagonal, bool upper) {
  int64_t rank = input.rank();
  if (rank < 2 || input.batchAxis >= rank - 2 || !isFoldable(input.shape()))
    return std::nullopt;
  std::vector<Element> elements = input.flatten();
  int64_t rows = input.slab[rank - 2], columns = input.slab[rank - 1];
  Element zero = isFloat(input.dtype) ? Element::floating(0) : Element::integer(0);
  for (auto [i, element] : llvm::enumerate(elements)) {
    int64_t column = static_cast<int64_t>(i) % columns, row = static_cast<int64_t>(i) / columns % rows;
    if (upper ? column - row < diagonal : column - row > diagonal)
      element = zero;
  }
  return Content::dense(input.dtype, input.shape(), std::move(elements), input.outer);
}

static Folded floatRange(DType type, double start, double limit, double delta) {
  double count = std::max(0.0, std::ceil((limit - start) / delta));
  if (delta == 0 || !(count < 0x1p24))
    return std::nullopt;
  std::vector<Element> elements;
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i) {
    double value = start + static_cast<double>(i) * delta;
    elements.push_back(Element::floating(type == DType::Float32 ? static_cast<float>(value) : value));
  }
  return Content::dense(type, {Extent::fixed(static_cast<int64_t>(count))}, std::move(elements));
}

Folded foldRange(const Content &start, const Content &limit, const Content &delta) {
  if (isFloat(start.dtype))
    return floatRange(start.dtype, start.only().real, limit.only().real, delta.only().real);
  const Element &first = start.only(), &step = delta.only();
  std::optional<Element> span = evaluate(ElementwiseFn::sub, start.dtype, {limit.only(), first});
  if (!span || !step.isConstant() || step.constant == 0 || first.perIndex != 0 || span->perIndex != 0)
    return std::nullopt;
  constexpr int64_t most = 1 << 24;
  int64_t delta0 = step.constant, toward = delta0 > 0 ? 1 : -1;
  bool batched = span->perBatch != 0, runs = delta0 > 0 ? span->constant > 0 : span->constant < 0;
  int64_t count = batched ? span->perBatch / delta0
                  : runs  ? 1 + std::min((span->constant - toward) / delta0, most)
                          : 0;
  if ((batched && (span->constant != 0 || span->perBatch % delta0 != 0 || count <= 0)) || count > most)
    return std::nullopt;
  std::vector<Element> elements;
  for (int64_t q = 0; q < count; ++q)
    elements.push_back(
        Element::integer(first.constant + delta0 * q, batched ? delta0 * count : 0, first.perBatch));
  return Content::dense(start.dtype, {Extent{count, batched}}, std::move(elements));
}

} // namespace accum::import
