// SPDX-License-Identifier: Apache-2.0
// Derivatives of data movement: each is its transpose.
#include "dialects/NN/Placement.h"
#include "passes/Differentiate/Vjp.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace accum {

static ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

LogicalResult differentiateReshape(Vjp &v, nn::ReshapeOp op) {
  v.give(0, v.reshapeTo(v.cotangent(), op.getInput()));
  return success();
}

LogicalResult differentiateTranspose(Vjp &v, nn::TransposeOp op) {
  SmallVector<int64_t> inverse(op.getPerm().size());
  for (auto [i, axis] : llvm::enumerate(op.getPerm()))
    inverse[axis] = static_cast<int64_t>(i);
  v.give(0, nn::TransposeOp::create(v.builder, op.getLoc(), v.cotangent(), inverse));
  return success();
}

LogicalResult differentiateBroadcast(Vjp &v, nn::BroadcastOp op) {
  v.give(0, v.unbroadcast(v.cotangent(), op.getInput()));
  return success();
}

/// `dy` with `stride - 1` zeros behind each element along `axis`, but none behind the last.
static Value spreadOut(Vjp &v, Value dy, Value zero, int64_t axis, int64_t stride) {
  auto type = cast<RankedTensorType>(dy.getType());
  nn::Placement placement = nn::Placement::of(type);
  SmallVector<int64_t> shape(type.getShape()), low(type.getRank() + 1, 0), starts(type.getRank(), 0),
      strides(type.getRank(), 1);
  auto make = [&](ArrayRef<int64_t> extents, bool split) {
    nn::Placement kept = placement;
    kept.dim += split && kept.isBatched() && kept.dim > axis;
    return kept.place(RankedTensorType::get(extents, type.getElementType()));
  };
  int64_t count = shape[axis];
  shape.insert(shape.begin() + axis + 1, 1);
  Value split = nn::ReshapeOp::create(v.builder, v.op()->getLoc(), make(shape, true), dy);
  shape[axis + 1] = stride;
  Value padded = nn::PadOp::create(v.builder, v.op()->getLoc(), make(shape, true), split, zero, low);
  shape.erase(shape.begin() + axis + 1);
  shape[axis] = count * stride;
  Value merged = nn::ReshapeOp::create(v.builder, v.op()->getLoc(), make(shape, false), padded);
  shape[axis] -= stride - 1;
  return nn::SliceOp::create(v.builder, v.op()->getLoc(), make(shape, false), merged, starts, strides);
}

/// `dy` from back to front along `axis`.
static Value reversed(Vjp &v, Value dy, int64_t axis) {
  auto type = cast<RankedTensorType>(dy.getType());
  SmallVector<int64_t> starts(type.getRank(), 0), strides(type.getRank(), 1);
  starts[axis] = type.getDimSize(axis) - 1;
  strides[axis] = -1;
  return nn::SliceOp::create(v.builder, v.op()->getLoc(), type, dy, starts, strides);
}

LogicalResult differentiateSlice(Vjp &v, nn::SliceOp op) {
  Value dy = v.cotangent(), zero = v.constant(0, dy);
  SmallVector<int64_t> starts(op.getStarts());
  for (auto [axis, step] : llvm::enumerate(op.getStrides())) {
    int64_t count = shapeOf(op.getResult())[axis];
    if (step < 0) {
      starts[axis] += (count - 1) * step;
      dy = reversed(v, dy, static_cast<int64_t>(axis));
    }
    if (step != 1 && step != -1 && count > 1)
      dy = spreadOut(v, dy, zero, static_cast<int64_t>(axis), std::abs(step));
  }
  v.give(0, nn::PadOp::create(v.builder, op.getLoc(), v.cotangentType(op.getInput()), dy, zero, starts));
  return success();
}

/// The block of `value` that starts at `starts` and has `like`'s shape, as like's cotangent.
static Value block(Vjp &v, Value value, ArrayRef<int64_t> starts, Value like) {
  SmallVector<int64_t> strides(starts.size(), 1);
  return nn::SliceOp::create(v.builder, v.op()->getLoc(), v.cotangentType(like), value, starts, strides);
}

LogicalResult differentiatePad(Vjp &v, nn::PadOp op) {
  Value dx = block(v, v.cotangent(), op.getLow(), op.getInput());
  v.give(0, dx);
  if (v.wants(1)) { // all that is not the input
    auto axes = [](Value value) { return llvm::to_vector(llvm::seq<int64_t>(shapeOf(value).size())); };
    v.give(1, v.sub(v.sum(v.cotangent(), axes(v.cotangent())), v.sum(dx, axes(dx))));
  }
  return success();
}

LogicalResult differentiateConcat(Vjp &v, nn::ConcatOp op) {
  SmallVector<int64_t> starts(shapeOf(op.getResult()).size(), 0);
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    if (v.wants(i))
      v.give(i, block(v, v.cotangent(), starts, input));
    starts[op.getAxis()] += shapeOf(input)[op.getAxis()];
  }
  return success();
}

} // namespace accum
