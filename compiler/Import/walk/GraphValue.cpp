// SPDX-License-Identifier: Apache-2.0
// Fold where the content is known, emit where it is not.
#include "compiler/Import/walk/GraphValue.h"
#include "compiler/Import/rules/OperandTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace accum::import {
using nn::ElementwiseFn;

Value GraphValue::lean(Emitter &emit) const {
  if (refusal)
    throw Refusal(*refusal);
  if (bounds && !bounds->low.isConstant())
    refuseCrossBatch(
        "uses the index of a sample in the batch as data: its value depends on the place in the batch");
  return value ? value : emit.leanConstant(*content);
}

/// Only the constant parts.
static Content withoutAffine(const Content &content) {
  Content result = content;
  std::vector<Element> elements(*content.data);
  for (Element &element : elements)
    element.perIndex = element.perBatch = 0;
  result.data = std::make_shared<const std::vector<Element>>(std::move(elements));
  return result;
}

Value GraphValue::residual(Emitter &emit) const {
  if (content)
    return emit.constant(withoutAffine(*content));
  return bounds ? emit.broadcastTo(value, shape) : whole(emit);
}

std::optional<GraphValue::Bounds> GraphValue::boundsOr(int64_t reach) const {
  if (bounds || content)
    return bounds ? bounds : Bounds{*content, *content};
  if (isFloat(dtype) || refusal || batchAxes(shape).size() > 1)
    return std::nullopt;
  return Bounds{Content::splat(dtype, shape, Element::integer(-reach)),
                Content::splat(dtype, shape, Element::integer(reach))};
}

GraphValue withBounds(GraphValue x, int64_t low, int64_t high) {
  if (batchAxes(x.shape).size() <= 1)
    x.bounds = {Content::splat(x.dtype, x.shape, Element::integer(low)),
                Content::splat(x.dtype, x.shape, Element::integer(high))};
  return x;
}

Value GraphValue::whole(Emitter &emit) const { return emit.broadcastTo(lean(emit), shape); }

static DType dtypeOf(Value value, DType operand) {
  return elementTypeOf(value).isInteger(1) ? DType::Bool : operand;
}

static std::optional<Shape> broadcastOf(ArrayRef<const GraphValue *> operands) {
  std::optional<Shape> shape = Shape();
  for (const GraphValue *operand : operands)
    if (shape)
      shape = broadcast(*shape, operand->shape);
  return shape;
}

static GraphValue emitElementwise(Emitter &emit, ElementwiseFn fn, ArrayRef<const GraphValue *> operands) {
  std::optional<Shape> shape = broadcastOf(operands);
  SmallVector<Value> values;
  for (const GraphValue *operand : operands) // as a whole they are refused with their extents
    values.push_back(shape ? operand->lean(emit) : operand->whole(emit));
  GraphValue result(DType::Undefined, emit.elementwise(fn, values));
  result.dtype = dtypeOf(result.value, operands.back()->dtype);
  if (shape)
    result.shape = *shape;
  return result;
}

/// The shape that the operands broadcast to, without a value.
static std::optional<GraphValue> shapeOnly(ElementwiseFn fn, ArrayRef<const GraphValue *> operands,
                                           const Refusal &refusal) {
  std::optional<Shape> shape = broadcastOf(operands);
  if (!shape)
    return std::nullopt;
  GraphValue result;
  result.shape = *shape;
  result.dtype = givesBool(fn) ? DType::Bool : operands.back()->dtype;
  result.refusal = std::make_shared<const Refusal>(refusal);
  return result;
}

static bool isComparison(ElementwiseFn fn) { return fn >= ElementwiseFn::lt && fn <= ElementwiseFn::ge; }

/// Bounds of sums, differences and multiples of bounded integers; comparisons that the bounds decide. Nothing
/// where no operand is bounded or the operation keeps no bounds.
static std::optional<GraphValue> boundedElementwise(Emitter &emit, ElementwiseFn fn,
                                                    ArrayRef<const GraphValue *> operands) {
  bool sum = fn == ElementwiseFn::add || fn == ElementwiseFn::sub || fn == ElementwiseFn::mul;
  if (operands.size() != 2 || !(sum || isComparison(fn)) || !(operands[0]->bounds || operands[1]->bounds))
    return std::nullopt;
  if (fn == ElementwiseFn::mul && !(operands[1]->content && operands[1]->content->isConstant()))
    return std::nullopt;
  auto a = operands[0]->boundsOr(0), b = operands[1]->boundsOr(0);
  if (!(operands[0]->bounds || operands[0]->content) || !(operands[1]->bounds || operands[1]->content))
    return std::nullopt;
  bool crossed = fn == ElementwiseFn::sub || isComparison(fn);
  Folded low = foldElementwise(fn, {&a->low, crossed ? &b->high : &b->low});
  Folded high = foldElementwise(fn, {&a->high, crossed ? &b->low : &b->high});
  if (!low || !high)
    return std::nullopt;
  if (isComparison(fn)) {
    Folded same = foldElementwise(ElementwiseFn::logical_xor, {&*low, &*high});
    bool decided = same && same->isUniform() && same->only().constant == 0;
    return decided ? std::optional<GraphValue>(*low) : std::nullopt;
  }
  GraphValue result(operands[0]->dtype,
                    emit.elementwise(fn, {operands[0]->residual(emit), operands[1]->residual(emit)}));
  result.bounds = {*low, *high};
  Folded ordered = foldElementwise(ElementwiseFn::le, {&*low, &*high});
  bool valid = ordered && ordered->isUniform() && ordered->only().constant != 0;
  return valid ? std::optional<GraphValue>(result) : std::nullopt;
}

GraphValue elementwise(Emitter &emit, ElementwiseFn fn, ArrayRef<const GraphValue *> operands) {
  for (const GraphValue *operand : operands.drop_front(fn == ElementwiseFn::select ? 1 : 0))
    if (operand->dtype != operands.back()->dtype)
      refuseMalformed("has operands of different element types");
  if (llvm::all_of(operands, [](const GraphValue *operand) { return operand->content.has_value(); })) {
    SmallVector<const Content *> contents;
    for (const GraphValue *operand : operands)
      contents.push_back(&*operand->content);
    if (Folded folded = foldElementwise(fn, contents, emit.largestTable))
      return *folded;
  }
  requireFloatsFor(fn, isFloat(operands.back()->dtype));
  if (std::optional<GraphValue> bounded = boundedElementwise(emit, fn, operands))
    return *bounded;
  try {
    return emitElementwise(emit, fn, operands);
  } catch (const Refusal &refusal) {
    if (std::optional<GraphValue> result = shapeOnly(fn, operands, refusal))
      return *result;
    throw;
  }
}

/// A movement of elements: on the content, on the bounds with the value, or on the value.
static GraphValue moved(Emitter &emit, const GraphValue &x, llvm::function_ref<Folded(const Content &)> fold,
                        llvm::function_ref<Value(Value)> move) {
  if (x.content)
    if (Folded folded = fold(*x.content))
      return *folded;
  if (!x.bounds)
    return {x.dtype, move(x.whole(emit))};
  Folded low = fold(x.bounds->low), high = fold(x.bounds->high);
  GraphValue result(x.dtype, move(low && high ? x.residual(emit) : x.whole(emit)));
  if (low && high)
    result.bounds = {*low, *high};
  return result;
}

GraphValue cast(Emitter &emit, const GraphValue &x, DType to) {
  if (x.dtype == to)
    return x;
  if (x.bounds && !isFloat(to) && to != DType::Bool)
    return moved(
        emit, x, [&](const Content &c) { return foldCast(c, to); },
        [&](Value value) { return emit.cast(value, emit.elementType(to)); });
  if (x.content)
    if (Folded folded = foldCast(*x.content, to))
      return *folded;
  GraphValue result(to, emit.cast(x.lean(emit), emit.elementType(to)));
  result.shape = x.shape;
  return result;
}

GraphValue reshape(Emitter &emit, const GraphValue &x, ArrayRef<Extent> target) {
  if (ArrayRef(x.shape) == target)
    return x;
  requireSane(target);
  bool fits = volumeOf(x.shape) == volumeOf(target);
  return moved(
      emit, x, [&](const Content &c) { return fits ? foldReshape(c, target) : Folded(); },
      [&](Value value) { return emit.reshape(value, target); });
}

GraphValue transpose(Emitter &emit, const GraphValue &x, ArrayRef<int64_t> perm) {
  return moved(
      emit, x, [&](const Content &c) { return foldTranspose(c, perm); },
      [&](Value value) { return emit.transpose(value, perm); });
}

GraphValue broadcastTo(Emitter &emit, const GraphValue &x, ArrayRef<Extent> target) {
  if (ArrayRef(x.shape) == target)
    return x;
  if (x.content || x.bounds)
    return moved(
        emit, x, [&](const Content &c) { return foldBroadcast(c, target); },
        [&](Value value) { return emit.broadcastTo(value, target); });
  GraphValue result(x);
  result.shape = Shape(target);
  return result;
}

GraphValue slice(Emitter &emit, const GraphValue &x, ArrayRef<int64_t> starts, ArrayRef<int64_t> steps,
                 ArrayRef<Extent> target) {
  SmallVector<int64_t> counts = slabOf(target);
  return moved(
      emit, x, [&](const Content &c) { return foldSlice(c, starts, steps, counts); },
      [&](Value value) { return emit.slice(value, starts, steps, target); });
}

std::optional<GraphValue> firstOfEqual(const GraphValue &x, int64_t axis) {
  if (!x.shape[axis].batched || x.shape[axis].count != 1)
    return std::nullopt;
  if (x.content && x.content->isConstant()) {
    Content part = *x.content;
    part.batchAxis = -1;
    return GraphValue(std::move(part));
  }
  if (!x.value || x.bounds || x.selection)
    return std::nullopt;
  Shape own = shapeOf(x.value);
  int64_t place = axis - (x.rank() - static_cast<int64_t>(own.size()));
  if (place >= 0 && own[place].batched)
    return std::nullopt;
  GraphValue part(x);
  part.shape[axis] = Extent::fixed(1);
  return part;
}

/// Index tuples of which one column is the sample's index and another depends on data.
static std::optional<GraphValue> boundedConcat(Emitter &emit, ArrayRef<const GraphValue *> inputs,
                                               int64_t axis) {
  bool affine = llvm::any_of(inputs, [](const GraphValue *input) {
    return (input->content && !input->content->isConstant()) || input->bounds;
  });
  SmallVector<GraphValue::Bounds, 2> bounds;
  SmallVector<const Content *> lows, highs;
  for (const GraphValue *input : inputs)
    if (std::optional<GraphValue::Bounds> each = input->boundsOr(int64_t{1} << 40))
      bounds.push_back(*each);
  if (!affine || bounds.size() != inputs.size())
    return std::nullopt;
  for (const GraphValue::Bounds &each : bounds) {
    lows.push_back(&each.low);
    highs.push_back(&each.high);
  }
  Folded low = foldConcat(lows, axis), high = foldConcat(highs, axis);
  if (!low || !high)
    return std::nullopt;
  SmallVector<Value> values;
  for (const GraphValue *input : inputs)
    values.push_back(input->residual(emit));
  GraphValue result(inputs[0]->dtype, emit.concat(values, axis));
  result.bounds = {*low, *high};
  return result;
}

GraphValue concat(Emitter &emit, ArrayRef<const GraphValue *> inputs, int64_t axis) {
  for (const GraphValue *input : inputs)
    if (input->dtype != inputs[0]->dtype)
      refuseMalformed("concatenates tensors of different element types");
  bool known = llvm::all_of(inputs, [](const GraphValue *input) { return input->content.has_value(); });
  if (known) {
    SmallVector<const Content *> contents;
    for (const GraphValue *input : inputs)
      contents.push_back(&*input->content);
    if (Folded folded = foldConcat(contents, axis))
      return *folded;
  } else if (std::optional<GraphValue> bounded = boundedConcat(emit, inputs, axis)) {
    return *bounded;
  }
  SmallVector<Value> values;
  for (const GraphValue *input : inputs)
    values.push_back(input->whole(emit));
  return {inputs[0]->dtype, emit.concat(values, axis)};
}

Value pick(Emitter &emit, Value x, int64_t axis, ArrayRef<int64_t> positions) {
  Shape shape = shapeOf(x);
  int64_t count = static_cast<int64_t>(positions.size());
  int64_t step = count > 1 ? positions[1] - positions[0] : 1;
  bool even = count > 0 && step > 0;
  for (int64_t j = 0; even && j < count; ++j)
    even = positions[j] == positions[0] + j * step;
  if (even) {
    SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
    starts[axis] = positions[0];
    steps[axis] = step;
    shape[axis] = Extent::fixed(count);
    return emit.slice(x, starts, steps, shape);
  }
  std::vector<Element> elements;
  for (int64_t position : positions)
    elements.push_back(Element::integer(position));
  Content indices = Content::dense(DType::Int64, {Extent::fixed(count)}, std::move(elements));
  return emit.gather(x, emit.constant(indices), axis);
}

} // namespace accum::import
