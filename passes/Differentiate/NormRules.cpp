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

LogicalResult differentiateLayerNorm(Vjp &v, nn::LayerNormOp op) {
  if (v.cotangent(1) || v.cotangent(2))
    return op.emitOpError("has no derivative through its statistics");
  Value dy = v.cotangent(), x = op.getInput();
  int64_t axis = op.getAxis();
  SmallVector<int64_t> row = axesFrom(axis, x);
  Value mean = v.unsqueeze(op.getMean(), row), rstd = v.unsqueeze(op.getRstd(), row);
  Value normal = v.mul(v.sub(x, mean), rstd);
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
  Value share = v.constant(1 / rowLength(x, axis), x);
  Value meanG = v.mul(v.unsqueeze(v.sum(g, row), row), share);
  Value meanGN = v.mul(v.unsqueeze(v.sum(v.mul(g, normal), row), row), share);
  v.give(0, v.mul(rstd, v.sub(v.sub(g, meanG), v.mul(normal, meanGN))));
  return success();
}

LogicalResult differentiateRmsNorm(Vjp &v, nn::RmsNormOp op) {
  if (v.cotangent(1))
    return op.emitOpError("has no derivative through its statistics");
  Value dy = v.cotangent(), x = op.getInput();
  int64_t axis = op.getAxis();
  SmallVector<int64_t> row = axesFrom(axis, x);
  Value rstd = v.unsqueeze(op.getRstd(), row);
  Value normal = v.mul(x, rstd);
  if (op.getScale() && v.wants(1))
    v.give(1, v.unbroadcast(v.mul(dy, normal), op.getScale()));
  if (!v.wants(0))
    return success();
  // dx = rstd * (g - normal * mean(g * normal)), g = dy * scale
  Value g = op.getScale() ? v.mul(dy, op.getScale()) : dy;
  Value share = v.constant(1 / rowLength(x, axis), x);
  Value meanGN = v.mul(v.unsqueeze(v.sum(v.mul(g, normal), row), row), share);
  v.give(0, v.mul(rstd, v.sub(g, v.mul(normal, meanGN))));
  return success();
}

} // namespace accum
