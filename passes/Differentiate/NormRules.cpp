// SPDX-License-Identifier: Apache-2.0
// Derivatives of softmax and the layer norms, in primitives; fuse makes one row kernel of them.
#include "passes/Differentiate/Vjp.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace accum {

using Fn = nn::ElementwiseFn;

static SmallVector<int64_t> axesFrom(int64_t begin, Value value) {
  return llvm::to_vector(llvm::seq<int64_t>(begin, cast<RankedTensorType>(value.getType()).getRank()));
}

LogicalResult differentiateSoftmax(Vjp &v, nn::SoftmaxOp op) {
  Value dy = v.cotangent(), y = op.getResult();
  int64_t axis = op.getAxis();
  if (op.getLog()) { // dy - exp(y) * sum(dy)
    Value total = v.unsqueeze(v.sum(dy, axis), axis);
    v.give(0, v.sub(dy, v.mul(v.map(Fn::exp, {y}), total)));
    return success();
  }
  Value total = v.unsqueeze(v.sum(v.mul(dy, y), axis), axis);
  v.give(0, v.mul(y, v.sub(dy, total)));
  return success();
}

/// The number of elements that a row of `value` from `axis` on has.
static double rowLength(Value value, int64_t axis) {
  auto shape = cast<RankedTensorType>(value.getType()).getShape().drop_front(axis);
  return static_cast<double>(ShapedType::getNumElements(shape));
}

/// `value`, one number a row, over the whole rows of x.
static Value spread(Vjp &v, Value value, Value x) {
  return nn::BroadcastOp::create(v.builder, v.op()->getLoc(), v.cotangentType(x), value);
}

/// What the cotangent of rstd = (variance + eps)^-1/2, or of a root mean square's, gives to x. `normal` is
/// x - mean (or x) times rstd.
static Value throughRstd(Vjp &v, Value dRstd, ArrayRef<int64_t> row, Value rstd, Value normal, Value share) {
  Value each = v.mul(v.unsqueeze(dRstd, row), v.mul(v.mul(rstd, rstd), share));
  return v.neg(v.mul(each, normal));
}

LogicalResult differentiateLayerNorm(Vjp &v, nn::LayerNormOp op) {
  Value dy = v.cotangent(), x = op.getInput();
  int64_t axis = op.getAxis();
  SmallVector<int64_t> row = axesFrom(axis, x);
  Value mean = v.unsqueeze(op.getMean(), row), rstd = v.unsqueeze(op.getRstd(), row);
  Value normal = v.mul(v.sub(x, mean), rstd), share = v.constant(1 / rowLength(x, axis), x);
  if (v.cotangent(1) && v.wants(0))
    v.give(0, spread(v, v.mul(v.unsqueeze(v.cotangent(1), row), share), x));
  if (v.cotangent(2) && v.wants(0))
    v.give(0, throughRstd(v, v.cotangent(2), row, rstd, normal, share));
  if (!dy)
    return success();
  unsigned next = 1;
  if (op.getScale()) {
    if (v.wants(next))
      v.give(next, v.unbroadcast(v.mul(dy, normal), op.getScale()));
    ++next;
  }
  if (op.getBias() && v.wants(next))
    v.give(next, v.unbroadcast(dy, op.getBias()));
  if (!v.wants(0))
    return success();
  // dx = rstd * (g - mean(g) - normal * mean(g * normal)), g = dy * scale
  Value g = op.getScale() ? v.mul(dy, op.getScale()) : dy;
  Value meanG = v.mul(v.unsqueeze(v.sum(g, row), row), share);
  Value meanGN = v.mul(v.unsqueeze(v.sum(v.mul(g, normal), row), row), share);
  v.give(0, v.mul(rstd, v.sub(v.sub(g, meanG), v.mul(normal, meanGN))));
  return success();
}

LogicalResult differentiateRmsNorm(Vjp &v, nn::RmsNormOp op) {
  Value dy = v.cotangent(), x = op.getInput();
  int64_t axis = op.getAxis();
  SmallVector<int64_t> row = axesFrom(axis, x);
  Value rstd = v.unsqueeze(op.getRstd(), row);
  Value normal = v.mul(x, rstd), share = v.constant(1 / rowLength(x, axis), x);
  if (v.cotangent(1) && v.wants(0))
    v.give(0, throughRstd(v, v.cotangent(1), row, rstd, normal, share));
  if (!dy)
    return success();
  if (op.getScale() && v.wants(1))
    v.give(1, v.unbroadcast(v.mul(dy, normal), op.getScale()));
  if (!v.wants(0))
    return success();
  // dx = rstd * (g - normal * mean(g * normal)), g = dy * scale
  Value g = op.getScale() ? v.mul(dy, op.getScale()) : dy;
  Value meanGN = v.mul(v.unsqueeze(v.sum(v.mul(g, normal), row), row), share);
  v.give(0, v.mul(rstd, v.sub(g, v.mul(normal, meanGN))));
  return success();
}

} // namespace accum
