// SPDX-License-Identifier: Apache-2.0
// top_k as k times the first extremum of what is left: what is picked has a derivative, and kernels.
#include "dialects/NN/PlacedBuilder.h"
#include "dialects/NN/Placement.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Differentiate/StepBuilder.h"

using namespace mlir;

namespace accum {
namespace {

using Fn = nn::ElementwiseFn;

class TopK {
public:
  TopK(nn::PlacedBuilder &builder, nn::TopKOp op)
      : builder(builder), loc(op.getLoc()), axis(static_cast<int64_t>(op.getAxis())),
        kind(op.getSmallest() ? nn::ReduceKind::min : nn::ReduceKind::max), input(op.getInput()),
        type(cast<RankedTensorType>(input.getType())) {}

  /// The indices of the k elements, in order; where elements are equal, the first ones.
  Value indices(int64_t k);
  Value valuesAt(Value indices) {
    auto result = RankedTensorType::get(cast<RankedTensorType>(indices.getType()).getShape(),
                                        type.getElementType(), type.getEncoding());
    return nn::GatherElementsOp::create(builder, loc, result, input, indices, axis);
  }

private:
  Value scalar(bool infinite);
  Value next(Value left);
  Value without(Value left, Value index);
  Value map(Fn fn, ValueRange operands) { return nn::ElementwiseOp::create(builder, loc, fn, operands); }

  nn::PlacedBuilder &builder;
  Location loc;
  int64_t axis;
  nn::ReduceKind kind;
  Value input;
  RankedTensorType type;
};

/// What is never picked before another element: an infinity, or the least finite number.
Value TopK::scalar(bool infinite) {
  bool negative = kind == nn::ReduceKind::max;
  Type element = type.getElementType();
  auto scalarType = RankedTensorType::get({}, element);
  TypedAttr value;
  if (auto real = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = real.getFloatSemantics();
    value = FloatAttr::get(real, infinite ? APFloat::getInf(semantics, negative)
                                          : APFloat::getLargest(semantics, negative));
  } else {
    unsigned bits = element.getIntOrFloatBitWidth();
    APInt extreme = negative ? APInt::getSignedMinValue(bits) : APInt::getSignedMaxValue(bits);
    value = IntegerAttr::get(element, infinite ? extreme : negative ? extreme + 1 : extreme - 1);
  }
  return nn::ConstantOp::create(builder, loc, nn::Placement::replicated().place(scalarType),
                                DenseElementsAttr::get(scalarType, Attribute(value)));
}

/// The index of the first extremum along the axis, which is kept with extent 1.
Value TopK::next(Value left) {
  SmallVector<int64_t> shape(type.getShape());
  nn::Placement placement = nn::Placement::of(type);
  shape[axis] = 1;
  auto kept = placement.place(RankedTensorType::get(shape, builder.getI64Type()));
  shape.erase(shape.begin() + axis);
  if (placement.isBatched() && placement.dim > axis)
    --placement.dim;
  auto dropped = placement.place(RankedTensorType::get(shape, builder.getI64Type()));
  Value index = nn::ArgReduceOp::create(builder, loc, dropped, kind, left, static_cast<uint64_t>(axis));
  return nn::ReshapeOp::create(builder, loc, kept, index);
}

Value TopK::without(Value left, Value index) {
  SmallVector<int64_t> line(type.getRank(), 1);
  line[axis] = type.getDimSize(axis);
  auto places = nn::Placement::replicated().place(RankedTensorType::get(line, builder.getI64Type()));
  Value place = nn::IotaOp::create(builder, loc, places, static_cast<uint64_t>(axis));
  return map(Fn::select, {map(Fn::eq, {place, index}), scalar(/*infinite=*/true), left});
}

Value TopK::indices(int64_t k) {
  // An infinity marks what is taken, so that elements may not be as large.
  Value left = map(kind == nn::ReduceKind::max ? Fn::max : Fn::min, {input, scalar(/*infinite=*/false)});
  SmallVector<Value> picked;
  for (int64_t i = 0; i < k; ++i) {
    if (i > 0)
      left = without(left, picked.back());
    picked.push_back(next(left));
  }
  return k == 1 ? picked.front() : nn::ConcatOp::create(builder, loc, picked, axis).getResult();
}

} // namespace

void decomposeTopK(func::FuncOp forward) {
  nn::PlacedBuilder builder(forward.getContext());
  for (auto op : llvm::make_early_inc_range(forward.getOps<nn::TopKOp>())) {
    builder.setInsertionPoint(op);
    TopK top(builder, op);
    Value indices = top.indices(static_cast<int64_t>(op.getK()));
    op.getIndices().replaceAllUsesWith(indices);
    op.getValues().replaceAllUsesWith(top.valuesAt(indices));
    op.erase();
  }
}

} // namespace accum
