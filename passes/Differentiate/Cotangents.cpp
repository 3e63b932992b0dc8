// SPDX-License-Identifier: Apache-2.0
// The algebra that derivative rules are written in.
#include "dialects/NN/Placement.h"
#include "dialects/NN/Views.h"
#include "passes/Differentiate/Vjp.h"

using namespace mlir;

namespace accum {

Vjp::Vjp(OpBuilder &builder, Operation *op, ArrayRef<Value> cotangents, std::function<bool(Value)> wanted)
    : builder(builder), source(op), cotangents(cotangents), wanted(std::move(wanted)) {}

void Vjp::give(unsigned operand, Value value) {
  assert(nn::sameSlabs(value.getType(), source->getOperand(operand).getType()) &&
         "cotangent has another shape");
  results.emplace_back(operand, value);
}

Value Vjp::map(nn::ElementwiseFn fn, ValueRange operands) {
  return nn::ElementwiseOp::create(builder, source->getLoc(), fn, operands);
}

Value Vjp::constant(double value, Value like) {
  auto type = RankedTensorType::get({}, nn::tensorType(like).getElementType());
  TypedAttr element =
      isa<FloatType>(type.getElementType())
          ? TypedAttr(builder.getFloatAttr(type.getElementType(), value))
          : TypedAttr(builder.getIntegerAttr(type.getElementType(), static_cast<int64_t>(value)));
  auto attr = DenseElementsAttr::get(type, Attribute(element));
  return nn::ConstantOp::create(builder, source->getLoc(), nn::Placement::replicated().place(type), attr);
}

Value Vjp::sum(Value value, ArrayRef<int64_t> axes) {
  return axes.empty() ? value
                      : nn::ReduceOp::create(builder, source->getLoc(), nn::ReduceKind::sum, value, axes);
}

Value Vjp::contract(const std::string &spec, Value lhs, Value rhs) {
  return nn::ContractOp::create(builder, source->getLoc(), spec, lhs, rhs);
}

Value Vjp::cast(Value value, Type element) {
  return nn::tensorType(value).getElementType() == element
             ? value
             : nn::CastOp::create(builder, source->getLoc(), value, element);
}

RankedTensorType Vjp::cotangentType(Value like) const {
  return nn::Placement::of(like.getType()).dual().place(like.getType());
}

Value Vjp::reshapeTo(Value value, Value like) {
  RankedTensorType target = cotangentType(like);
  // Where the samples lie on another axis of the same slab, the whole shapes differ.
  if (value.getType() == target)
    return value;
  return nn::ReshapeOp::create(builder, source->getLoc(), target, value);
}

Value Vjp::unsqueeze(Value value, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> shape(nn::tensorType(value).getShape());
  nn::Placement placement = nn::Placement::of(value.getType());
  for (int64_t axis : axes) {
    shape.insert(shape.begin() + axis, 1);
    if (placement.isBatched() && placement.dim >= axis)
      ++placement.dim;
  }
  auto type = placement.place(RankedTensorType::get(shape, nn::tensorType(value).getElementType()));
  return type == value.getType() ? value : nn::ReshapeOp::create(builder, source->getLoc(), type, value);
}

Value Vjp::unbroadcast(Value value, Value like) {
  RankedTensorType from = nn::tensorType(value), to = nn::tensorType(like);
  nn::Placement fromPlacement = nn::Placement::of(from), toPlacement = nn::Placement::of(to);
  int64_t shift = from.getRank() - to.getRank();
  SmallVector<int64_t> axes;
  for (int64_t i = 0; i < from.getRank(); ++i) {
    bool absent = i < shift;
    bool spread = !absent && to.getDimSize(i - shift) == 1 && from.getDimSize(i) != 1;
    // A sample axis of slab extent 1 still has N entries.
    bool samples = fromPlacement.isBatched() && fromPlacement.dim == i && !toPlacement.isBatched();
    if (absent || spread || samples)
      axes.push_back(i);
  }
  return reshapeTo(sum(value, axes), like);
}

} // namespace accum
