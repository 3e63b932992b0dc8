// SPDX-License-Identifier: Apache-2.0
// Fold where the content is known, emit where it is not.
#include "compiler/Import/GraphValue.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace accum::import {
using nn::ElementwiseFn;

Value GraphValue::lean(Emitter &emit) const {
  if (refusal)
    throw Refusal(*refusal);
  return value ? value : emit.leanConstant(*content);
}

Value GraphValue::whole(Emitter &emit) const { return emit.broadcastTo(lean(emit), shape); }

static DType dtypeOf(Value value, DType operand) {
  return elementTypeOf(value).isInteger(1) ? DType::Bool : operand;
}

static GraphValue emitElementwise(Emitter &emit, ElementwiseFn fn, ArrayRef<const GraphValue *> operands) {
  SmallVector<Value> values;
  Shape shape;
  for (const GraphValue *operand : operands) {
    values.push_back(operand->lean(emit));
    if (std::optional<Shape> next = broadcast(shape, operand->shape))
      shape = *next;
    else
      values.back() = operand->whole(emit);
  }
  GraphValue result(DType::Undefined, emit.elementwise(fn, values));
  result.dtype = dtypeOf(result.value, operands.back()->dtype);
  result.shape = shape;
  return result;
}

/// The shape that the operands broadcast to, without a value.
static std::optional<GraphValue> shapeOnly(ElementwiseFn fn, ArrayRef<const GraphValue *> operands,
                                           const Refusal &refusal) {
  GraphValue result;
  for (const GraphValue *operand : operands) {
    std::optional<Shape> next = broadcast(result.shape, operand->shape);
    if (!next)
      return std::nullopt;
    result.shape = *next;
  }
  result.dtype = givesBool(fn) ? DType::Bool : operands.back()->dtype;
  result.refusal = std::make_shared<const Refusal>(refusal);
  return result;
}

GraphValue elementwise(Emitter &emit, ElementwiseFn fn, ArrayRef<const GraphValue *> operands) {
  if (llvm::all_of(operands, [](const GraphValue *operand) { return operand->content.has_value(); })) {
    SmallVector<const Content *> contents;
    for (const GraphValue *operand : operands)
      contents.push_back(&*operand->content);
    if (Folded folded = foldElementwise(fn, contents))
      return *folded;
  }
  try {
    return emitElementwise(emit, fn, operands);
  } catch (const Refusal &refusal) {
    if (std::optional<GraphValue> result = shapeOnly(fn, operands, refusal))
      return *result;
    throw;
  }
}

GraphValue cast(Emitter &emit, const GraphValue &x, DType to) {
  if (x.dtype == to)
    return x;
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
  if (x.content)
    if (volumeOf(x.shape) == volumeOf(target))
      if (Folded folded = foldReshape(*x.content, target))
        return *folded;
  return {x.dtype, emit.reshape(x.whole(emit), target)};
}

GraphValue transpose(Emitter &emit, const GraphValue &x, ArrayRef<int64_t> perm) {
  if (x.content)
    if (Folded folded = foldTranspose(*x.content, perm))
      return *folded;
  return {x.dtype, emit.transpose(x.whole(emit), perm)};
}

GraphValue broadcastTo(Emitter &emit, const GraphValue &x, ArrayRef<Extent> target) {
  if (ArrayRef(x.shape) == target)
    return x;
  if (x.content)
    if (Folded folded = foldBroadcast(*x.content, target))
      return *folded;
  GraphValue result(x.dtype, x.lean(emit));
  result.shape = Shape(target);
  return result;
}

GraphValue slice(Emitter &emit, const GraphValue &x, ArrayRef<int64_t> starts, ArrayRef<int64_t> steps,
                 ArrayRef<Extent> target) {
  if (x.content)
    if (Folded folded = foldSlice(*x.content, starts, steps, slabOf(target)))
      return *folded;
  return {x.dtype, emit.slice(x.whole(emit), starts, steps, target)};
}

GraphValue concat(Emitter &emit, ArrayRef<const GraphValue *> inputs, int64_t axis) {
  if (llvm::all_of(inputs, [](const GraphValue *input) { return input->content.has_value(); })) {
    SmallVector<const Content *> contents;
    for (const GraphValue *input : inputs)
      contents.push_back(&*input->content);
    if (Folded folded = foldConcat(contents, axis))
      return *folded;
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
