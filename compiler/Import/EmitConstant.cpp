// SPDX-License-Identifier: Apache-2.0
// Known values as run-time constants, as small as broadcasting allows.
#include "compiler/Import/Emitter.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace accum::import {

static APFloat inType(double value, Type element) {
  APFloat number(value);
  bool lossy = false;
  number.convert(cast<FloatType>(element).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lossy);
  return number;
}

Value Emitter::scalar(Type element, double value) {
  if (!isa<FloatType>(element))
    return integerScalar(element, static_cast<int64_t>(value));
  RankedTensorType tensor = type({}, element);
  return nn::ConstantOp::create(builder, location, tensor,
                                DenseElementsAttr::get(tensor, inType(value, element)));
}

Value Emitter::integerScalar(Type element, int64_t value) {
  RankedTensorType tensor = type({}, element);
  APInt number(element.getIntOrFloatBitWidth(), static_cast<uint64_t>(value), true, true);
  return nn::ConstantOp::create(builder, location, tensor, DenseElementsAttr::get(tensor, number));
}

/// Raw little-endian bytes of the elements, one bool a byte; the form DenseElementsAttr shares.
template <class T> static DenseElementsAttr denseOf(RankedTensorType type, ArrayRef<Element> elements) {
  SmallVector<T> values;
  values.reserve(elements.size());
  for (const Element &e : elements)
    values.push_back(std::is_floating_point_v<T> ? static_cast<T>(e.real) : static_cast<T>(e.constant));
  return DenseElementsAttr::get(type, ArrayRef<T>(values));
}

static DenseElementsAttr denseAttribute(RankedTensorType type, ArrayRef<Element> elements) {
  Type element = type.getElementType();
  if (element.isF32())
    return denseOf<float>(type, elements);
  if (element.isF64())
    return denseOf<double>(type, elements);
  if (element.isInteger(1))
    return denseOf<bool>(type, elements);
  if (element.isSignlessInteger(64))
    return denseOf<int64_t>(type, elements);
  if (element.isSignlessInteger(32))
    return denseOf<int32_t>(type, elements);
  if (auto real = dyn_cast<FloatType>(element)) {
    SmallVector<APFloat> values;
    for (const Element &e : elements)
      values.push_back(inType(e.real, real));
    return DenseElementsAttr::get(type, values);
  }
  SmallVector<APInt> values;
  for (const Element &e : elements)
    values.emplace_back(element.getIntOrFloatBitWidth(), static_cast<uint64_t>(e.constant), true, true);
  return DenseElementsAttr::get(type, values);
}

/// One value on and below a diagonal of square matrices, another above it: how causal masks look.
static bool isLowerTriangular(ArrayRef<int64_t> slab, ArrayRef<Element> elements) {
  if (elements.empty() || slab.size() < 2 || slab.back() < 2 || slab.back() != slab[slab.size() - 2])
    return false;
  int64_t size = slab.back();
  if (sameElement(elements[0], elements[1]))
    return false;
  for (int64_t i = 0; i < static_cast<int64_t>(elements.size()); ++i) {
    bool above = i % size > i / size % size;
    if (!sameElement(elements[i], elements[above ? 1 : 0]))
      return false;
  }
  return true;
}

/// The same elements with every axis that does not move cut to one; no batch axis where its rows are equal.
static Content compact(const Content &content) {
  Content result = content;
  bool oneRow = content.batchAxis >= 0 && content.slab[content.batchAxis] == 1;
  for (auto [size, stride] : llvm::zip_equal(result.slab, result.strides))
    if (stride == 0 && size > 1)
      size = 1;
  if (content.batchAxis >= 0 && (oneRow || result.slab[content.batchAxis] == 1)) {
    result.batchAxis = -1;
    result.outer = 1;
  }
  if (result.isUniform())
    result = Content::splat(content.dtype, {}, content.only());
  return result;
}

/// a + D * N for constants a and D of the slab's shape.
Value Emitter::denseConstant(const Content &content) {
  std::vector<Element> elements = content.flatten();
  if (llvm::any_of(elements, [](const Element &e) { return e.perIndex != 0; }))
    refuseCrossBatch(
        "uses the index of a sample in the batch as data: its value depends on the place in the batch",
        {"a sample's own data may not depend on where it stands"});
  RankedTensorType tensor = type(staticShape(content.slab), elementType(content.dtype));
  sawCausalMask |= isLowerTriangular(content.slab, elements);
  Value base = nn::ConstantOp::create(builder, location, tensor, denseAttribute(tensor, elements));
  if (llvm::all_of(elements, [](const Element &e) { return e.perBatch == 0; }))
    return base;
  for (Element &e : elements)
    e = Element::integer(e.perBatch);
  Value slope = nn::ConstantOp::create(builder, location, tensor, denseAttribute(tensor, elements));
  return add(base, mul(cast(batchSize(), tensor.getElementType()), slope));
}

Value Emitter::leanConstant(const Content &content) {
  Content lean = compact(content);
  if (lean.batchAxis < 0)
    return denseConstant(lean);
  // Rows of a sample differ: [.., outer * rows, ..] as [.., outer, 1, rows, ..], expanded over the samples.
  int64_t axis = lean.batchAxis, rows = lean.slab[axis] / lean.outer;
  Shape split = staticShape(lean.slab), target = lean.shape();
  split[axis] = Extent::fixed(rows);
  split.insert(split.begin() + axis, {Extent::fixed(lean.outer), Extent::fixed(1)});
  Value value = reshape(denseConstant(lean), split);
  split[axis + 1] = Extent::ofBatch(1);
  return reshape(broadcastTo(value, split), target);
}

Value Emitter::constant(const Content &content) {
  return broadcastTo(leanConstant(content), content.shape());
}

} // namespace accum::import
