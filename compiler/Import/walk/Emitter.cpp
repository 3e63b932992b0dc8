// SPDX-License-Identifier: Apache-2.0
// Building nn ops: elementwise maths and data movement.
#include "compiler/Import/rules/OperandTypes.h"
#include "compiler/Import/walk/BakedIn.h"
#include "dialects/NN/Detached.h"
#include "dialects/NN/OperandKinds.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace accum::import {
using nn::ElementwiseFn;

void refuseUnsupported(std::string message) { throw Refusal{"unsupported", std::move(message), {}}; }
void refuseMalformed(std::string message) { throw Refusal{"malformed-model", std::move(message), {}}; }
void refuseCrossBatch(std::string message, std::vector<std::string> notes) {
  throw Refusal{"cross-batch", std::move(message), std::move(notes)};
}
void refuseBakedIn(const std::string &message) {
  refuseCrossBatch(message + ": the batch size of the export is baked in",
                   {"export again with the batch dimension dynamic in every input",
                    "the TorchScript exporter bakes it into x[:, 0] = y; torch.onnx.export(..., dynamo=True, "
                    "optimize=False) does not"});
}

Shape shapeOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Shape shape = staticShape(type.getShape());
  if (auto extent = dyn_cast_or_null<nn::ExtentAttr>(type.getEncoding()))
    for (int64_t dim : extent.getDims())
      shape[dim].batched = true;
  return shape;
}

Type elementTypeOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

Type Emitter::elementType(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return builder.getI1Type();
  case DType::Float32:
    return builder.getF32Type();
  case DType::Float64:
    return builder.getF64Type();
  case DType::Int8:
  case DType::Int16:
  case DType::Int32:
  case DType::Int64:
    return builder.getIntegerType(bitWidth(dtype));
  case DType::UInt8:
    return builder.getIntegerType(8, /*isSigned=*/false);
  default:
    refuseUnsupported("has element type " + std::string(name(dtype)) + ", which is not computed with");
  }
}

void requireSane(ArrayRef<Extent> shape) {
  int64_t elements = 1;
  if (llvm::is_contained(shape, Extent::ofBatch(0)))
    refuseMalformed("has a batch axis without rows: " + toString(shape));
  for (Extent extent : shape)
    if (extent.count < 0 || __builtin_mul_overflow(elements, std::max<int64_t>(extent.count, 1), &elements) ||
        elements > (int64_t{1} << 48))
      refuseMalformed("has a value of the absurd shape " + toString(shape));
}

RankedTensorType Emitter::type(ArrayRef<Extent> shape, Type element) {
  requireSane(shape);
  SmallVector<int64_t> dims = batchAxes(shape);
  Attribute encoding = dims.empty() ? Attribute() : nn::ExtentAttr::get(builder.getContext(), dims);
  return RankedTensorType::get(slabOf(shape), element, encoding);
}

/// Why two extents do not broadcast.
[[noreturn]] static void refuseBroadcast(Extent a, Extent b) {
  std::string pair = toString({a}) + " and " + toString({b});
  if (a.batched != b.batched)
    refuseBakedIn("has operands with extents " + pair);
  refuseMalformed("has operands with extents " + pair + ", which do not broadcast");
}

void requireFloatsFor(ElementwiseFn fn, bool areFloats) {
  if (nn::needsFloats(fn) && !areFloats)
    refuseUnsupported("takes `" + nn::stringifyElementwiseFn(fn).str() +
                      "` of integers or truth values, which is built for floats");
}

Value Emitter::elementwise(ElementwiseFn fn, ArrayRef<Value> operands) {
  Shape shape;
  for (Value operand : operands) {
    Extent left, right;
    std::optional<Shape> next = broadcast(shape, shapeOf(operand), &left, &right);
    if (!next)
      refuseBroadcast(left, right);
    shape = *next;
  }
  if (fn == ElementwiseFn::select && !elementTypeOf(operands[0]).isInteger(1))
    refuseMalformed("has a condition that is not boolean");
  if (nn::needsBools(fn) && !elementTypeOf(operands[0]).isInteger(1))
    refuseMalformed("has operands that are not boolean");
  requireFloatsFor(fn, isa<FloatType>(elementTypeOf(operands[0])));
  Type element = givesBool(fn) ? Type(builder.getI1Type()) : elementTypeOf(operands.back());
  for (Value operand : operands.drop_front(fn == ElementwiseFn::select ? 1 : 0))
    if (elementTypeOf(operand) != elementTypeOf(operands.back()))
      refuseMalformed("has operands of different element types");
  return nn::ElementwiseOp::create(builder, location, type(shape, element), fn, operands);
}

Value Emitter::scale(Value x, double factor) {
  return factor == 1 ? x : mul(x, scalar(elementTypeOf(x), factor));
}

Value Emitter::select(Value condition, Value yes, Value no) {
  return elementwise(ElementwiseFn::select, {condition, yes, no});
}

Value Emitter::cast(Value x, Type element) {
  if (elementTypeOf(x) == element)
    return x;
  return nn::CastOp::create(builder, location, type(shapeOf(x), element), x);
}

static Value detached(Value selected) {
  selected.getDefiningOp()->setAttr(nn::detachedAttr, UnitAttr::get(selected.getContext()));
  return selected;
}

Value Emitter::detach(Value x) {
  Value always = integerScalar(builder.getI1Type(), 1);
  return detached(select(always, x, scalar(elementTypeOf(x), 0)));
}

Value Emitter::detachWhere(Value condition, Value x) { return detached(select(condition, x, x)); }

Value Emitter::reshape(Value x, ArrayRef<Extent> target) {
  Shape shape = shapeOf(x);
  if (ArrayRef(shape) == target)
    return x;
  if (!(volumeOf(shape) == volumeOf(target))) {
    std::string change = toString(shape) + " into " + toString(target);
    if (volumeOf(shape).power != volumeOf(target).power)
      refuseBakedIn("turns " + change);
    refuseMalformed("turns " + change + ", another number of elements");
  }
  if (auto reshaped = x.getDefiningOp<nn::ReshapeOp>())
    return reshape(reshaped.getInput(), target);
  return nn::ReshapeOp::create(builder, location, type(target, elementTypeOf(x)), x);
}

Value Emitter::transpose(Value x, ArrayRef<int64_t> perm) {
  if (llvm::is_sorted(perm))
    return x;
  Shape shape = shapeOf(x), target;
  for (int64_t axis : perm)
    target.push_back(shape[axis]);
  return nn::TransposeOp::create(builder, location, type(target, elementTypeOf(x)), x,
                                 builder.getDenseI64ArrayAttr(perm));
}

Value Emitter::broadcastTo(Value x, ArrayRef<Extent> target) {
  if (ArrayRef(shapeOf(x)) == target)
    return x;
  return nn::BroadcastOp::create(builder, location, type(target, elementTypeOf(x)), x);
}

Value Emitter::slice(Value x, ArrayRef<int64_t> starts, ArrayRef<int64_t> steps, ArrayRef<Extent> target) {
  if (ArrayRef(shapeOf(x)) == target && llvm::all_of(steps, [](int64_t step) { return step == 1; }))
    return x;
  return nn::SliceOp::create(builder, location, type(target, elementTypeOf(x)), x,
                             builder.getDenseI64ArrayAttr(starts), builder.getDenseI64ArrayAttr(steps));
}

Value Emitter::concat(ArrayRef<Value> inputs, int64_t axis) {
  if (inputs.size() == 1)
    return inputs[0];
  Shape shape = shapeOf(inputs[0]);
  for (Value input : inputs.drop_front()) {
    Shape other = shapeOf(input);
    if (other[axis].batched != shape[axis].batched)
      refuseCrossBatch("concatenates " + toString(shape) + " and " + toString(other) +
                       " along the batch: the extent is not a multiple of the batch size");
    for (auto [d, extent] : llvm::enumerate(other))
      if (static_cast<int64_t>(d) != axis && !(extent == shape[d]))
        refuseBroadcast(extent, shape[d]);
    shape[axis].count += other[axis].count;
  }
  return nn::ConcatOp::create(builder, location, type(shape, elementTypeOf(inputs[0])), inputs, axis);
}

Value Emitter::pad(Value x, Value value, ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
  Shape shape = shapeOf(x);
  for (auto [d, extent] : llvm::enumerate(shape)) {
    if (extent.batched && (low[d] != 0 || high[d] != 0))
      refuseCrossBatch("pads the batch axis: the extent is not a multiple of the batch size");
    extent.count += low[d] + high[d];
  }
  if (shape == shapeOf(x))
    return x;
  return nn::PadOp::create(builder, location, type(shape, elementTypeOf(x)), x, value,
                           builder.getDenseI64ArrayAttr(low));
}

Value Emitter::gather(Value x, Value indices, int64_t axis, int64_t batchDims) {
  Shape input = shapeOf(x), picks = shapeOf(indices);
  Shape shape(ArrayRef(input).take_front(axis));
  shape.append(picks.begin() + batchDims, picks.end());
  shape.append(input.begin() + axis + 1, input.end());
  return nn::GatherOp::create(builder, location, type(shape, elementTypeOf(x)), x, indices,
                              builder.getI64IntegerAttr(axis), builder.getI64IntegerAttr(batchDims));
}

} // namespace accum::import
