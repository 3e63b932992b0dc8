// SPDX-License-Identifier: Apache-2.0
// Derivatives of data movement: each is its transpose.
#include "dialects/NN/Placement.h"
#include "passes/Differentiate/Vjp.h"

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

LogicalResult differentiateSlice(Vjp &v, nn::SliceOp op) {
  if (llvm::any_of(op.getStrides(), [](int64_t stride) { return stride != 1; }))
    return failure();
  Value zero = v.constant(0, v.cotangent());
  v.give(0, nn::PadOp::create(v.builder, op.getLoc(), v.cotangentType(op.getInput()), v.cotangent(), zero,
                              op.getStarts()));
  return success();
}

/// The block of `value` that starts at `starts` and has `like`'s shape, as like's cotangent.
static Value block(Vjp &v, Value value, ArrayRef<int64_t> starts, Value like) {
  SmallVector<int64_t> strides(starts.size(), 1);
  return nn::SliceOp::create(v.builder, v.op()->getLoc(), v.cotangentType(like), value, starts, strides);
}

LogicalResult differentiatePad(Vjp &v, nn::PadOp op) {
  if (v.wants(1))
    return failure();
  v.give(0, block(v, v.cotangent(), op.getLow(), op.getInput()));
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
