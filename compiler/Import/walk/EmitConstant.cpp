// SPDX-License-Identifier: Apache-2.0
// Known values as run-time constants, as small as broadcasting allows.
#include "compiler/Import/content/TablePatterns.h"
#include "compiler/Import/walk/Emitter.h"
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

/// The same elements seen the same way: layers share one mask.
static bool sameView(const Content &a, const Content &b) {
  return a.data == b.data && a.offset == b.offset && a.dtype == b.dtype && a.slab == b.slab &&
         a.strides == b.strides && a.batchAxis == b.batchAxis && a.outer == b.outer;
}

/// Inline tables up to this many elements; larger ones are looked at for a rule that makes them.
static constexpr int64_t smallTable = 64;

bool Emitter::isLarge(int64_t elements) const { return elements > (isOneOfSizes ? 1 : smallTable); }

Value Emitter::table(const Content &content, ArrayRef<Element> elements) {
  Shape shape = staticShape(content.slab);
  Type element = elementType(content.dtype);
  if (isLarge(static_cast<int64_t>(elements.size()))) {
    if (std::optional<Ramp> ramp = rampOf(content.slab, elements); ramp && !isFloat(content.dtype))
      return emitRamp(*ramp, shape, element);
    if (std::optional<TwoValues> two = twoValuesOf(content.slab, elements))
      return emitTwoValues(*two, shape, element);
  }
  RankedTensorType tensor = type(shape, element);
  return nn::ConstantOp::create(builder, location, tensor, denseAttribute(tensor, elements));
}

Value Emitter::iota(const Shape &shape, int64_t axis, Type element) {
  Shape line(shape.size(), Extent::fixed(1));
  line[axis] = shape[axis];
  Value index = nn::IotaOp::create(builder, location, type(line, builder.getI64Type()), axis);
  return cast(index, element);
}

Value Emitter::emitRamp(const Ramp &ramp, const Shape &shape, Type element) {
  Value value = iota(shape, ramp.axis, element);
  if (ramp.step != 1)
    value = mul(value, integerScalar(element, ramp.step));
  if (ramp.start != 0)
    value = add(value, integerScalar(element, ramp.start));
  return broadcastTo(value, shape);
}

/// True where column < row + diagonal.
Value Emitter::lowerTriangle(const Shape &shape, int64_t diagonal) {
  auto rank = static_cast<int64_t>(shape.size());
  Type integer = builder.getI64Type();
  sawCausalMask |= diagonal == 1 && shape[rank - 1] == shape[rank - 2];
  Value row = iota(shape, rank - 2, integer), column = iota(shape, rank - 1, integer);
  if (diagonal == 1)
    return elementwise(nn::ElementwiseFn::le, {column, row});
  return elementwise(nn::ElementwiseFn::lt, {column, add(row, integerScalar(integer, diagonal))});
}

Value Emitter::emitTwoValues(const TwoValues &two, const Shape &shape, Type element) {
  Value mask;
  if (two.diagonal) {
    mask = lowerTriangle(shape, *two.diagonal);
  } else {
    RankedTensorType bits = type(shape, builder.getI1Type());
    mask = nn::ConstantOp::create(builder, location, bits, denseAttribute(bits, two.isFirst));
  }
  if (element.isInteger(1))
    return two.first.constant != 0 ? mask : unary(nn::ElementwiseFn::logical_not, mask);
  auto value = [&](const Element &e) {
    return isa<FloatType>(element) ? scalar(element, e.real) : integerScalar(element, e.constant);
  };
  return select(mask, value(two.first), value(two.second));
}

/// a + D * N for constants a and D of the slab's shape.
Value Emitter::denseConstant(const Content &content) {
  if (!isFoldable(content.shape()))
    refuseUnsupported("needs a constant of shape " + toString(content.shape()) + ", which is too large");
  // A mask of all positions has millions of elements: none are copied that lie in order and stand for
  // numbers.
  std::vector<Element> copied;
  ArrayRef<Element> elements = content.inOrder();
  if (elements.empty())
    elements = copied = content.flatten();
  if (llvm::any_of(elements, [](const Element &e) { return e.perIndex != 0; }))
    refuseCrossBatch(
        "uses the index of a sample in the batch as data: its value depends on the place in the batch",
        {"a sample's own data may not depend on where it stands"});
  if (llvm::none_of(elements, [](const Element &e) { return e.perBatch != 0; }))
    return table(content, elements);
  std::vector<Element> starts, slopes;
  for (const Element &e : elements) {
    starts.push_back(Element::integer(e.constant));
    slopes.push_back(Element::integer(e.perBatch));
  }
  Value base = table(content, starts);
  return add(base, mul(cast(batchSize(), elementTypeOf(base)), table(content, slopes)));
}

Value Emitter::leanConstant(const Content &content) {
  for (const auto &[known, value] : constants)
    if (sameView(known, content))
      return value;
  Value value = makeLean(compact(content));
  if (isLarge(content.size()))
    constants.emplace_back(content, value);
  return value;
}

Value Emitter::makeLean(const Content &lean) {
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
