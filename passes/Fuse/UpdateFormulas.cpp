// SPDX-License-Identifier: Apache-2.0
// PyTorch's formulas (torch.optim, single-tensor versions), and Lion's of its paper.
#include "passes/Fuse/UpdateFormulas.h"
#include "dialects/NN/Placement.h"

using namespace mlir;

namespace accum {

using Fn = nn::ElementwiseFn;
using runtime::UpdateRule;

Value UpdateMath::place(Operation *op) {
  Value value = op->getResult(0);
  value.setType(nn::Placement::replicated().place(value.getType()));
  return value;
}

Value UpdateMath::map(Fn fn, ValueRange values) { return place(nn::ElementwiseOp::create(b, fn, values)); }

Value UpdateMath::scalar(accum_hyper_slot index) {
  auto one = RankedTensorType::get({1}, b.getF64Type()), none = RankedTensorType::get({}, b.getF64Type());
  Value slice = place(nn::SliceOp::create(b, one, hyper, ArrayRef<int64_t>(index), ArrayRef<int64_t>(1)));
  return place(nn::ReshapeOp::create(b, none, slice));
}

Value UpdateMath::one() {
  auto type = nn::Placement::replicated().place(RankedTensorType::get({}, b.getF64Type()));
  auto value = DenseElementsAttr::get(nn::slabOf(type), Attribute(b.getF64FloatAttr(1)));
  return nn::ConstantOp::create(b, type, value);
}

Value UpdateMath::integer(int64_t value) {
  auto type = nn::Placement::replicated().place(RankedTensorType::get({}, b.getI64Type()));
  return nn::ConstantOp::create(b, type, DenseElementsAttr::get(nn::slabOf(type), {value}));
}

Value UpdateMath::narrow(Value wide) {
  return element == b.getF64Type() ? wide : nn::CastOp::create(b, wide, element).getResult();
}

Value UpdateMath::average(Value old, Value weights) {
  return add(old, mul(sub(weights, old), narrow(scalar(ACCUM_HYPER_EMA))));
}

namespace {

/// g + p * decay: coupled L2.
Value coupledDecay(UpdateMath &f, const UpdateOperands &x) {
  return f.add(x.gradient, f.mul(x.parameter, f.narrow(x.decay)));
}

/// p * (1 - rate * decay)
Value decoupledDecay(UpdateMath &f, const UpdateOperands &x) {
  return f.mul(x.parameter, f.narrow(f.sub(f.one(), f.mul(x.rate, x.decay))));
}

/// old * beta + fresh * (1 - beta)
Value average(UpdateMath &f, Value old, Value fresh, Value beta) {
  return f.add(f.mul(old, f.narrow(beta)), f.mul(fresh, f.narrow(f.sub(f.one(), beta))));
}

Value descend(UpdateMath &f, const UpdateOperands &x, Value direction) {
  return f.sub(x.parameter, f.mul(direction, f.narrow(x.rate)));
}

SmallVector<Value> sgd(UpdateMath &f, const UpdateOperands &x) { return {descend(f, x, coupledDecay(f, x))}; }

SmallVector<Value> momentum(UpdateMath &f, const UpdateOperands &x, bool nesterov) {
  Value g = coupledDecay(f, x), momentum = f.scalar(ACCUM_HYPER_BETA1);
  // The first step sets the buffer to g: correction1 is 0 there and 1 later.
  Value keep = f.narrow(f.mul(momentum, f.scalar(ACCUM_HYPER_CORRECTION1)));
  Value buffer = f.add(f.mul(x.slots[0], keep), g);
  Value direction = nesterov ? f.add(g, f.mul(buffer, f.narrow(momentum))) : buffer;
  return {descend(f, x, direction), buffer};
}

SmallVector<Value> adam(UpdateMath &f, const UpdateOperands &x, bool decoupled) {
  Value p = decoupled ? decoupledDecay(f, x) : x.parameter;
  Value g = decoupled ? x.gradient : coupledDecay(f, x);
  // m += (g - m) * (1 - beta1); v = v * beta2 + g * g * (1 - beta2)
  Value m =
      f.add(x.slots[0], f.mul(f.sub(g, x.slots[0]), f.narrow(f.sub(f.one(), f.scalar(ACCUM_HYPER_BETA1)))));
  Value v = average(f, x.slots[1], f.mul(g, g), f.scalar(ACCUM_HYPER_BETA2));
  Value root = f.map(Fn::sqrt, {v});
  Value denominator =
      f.add(f.div(root, f.narrow(f.scalar(ACCUM_HYPER_CORRECTION2))), f.narrow(f.scalar(ACCUM_HYPER_EPS)));
  Value stepSize = f.narrow(f.div(x.rate, f.scalar(ACCUM_HYPER_CORRECTION1)));
  return {f.sub(p, f.mul(stepSize, f.div(m, denominator))), m, v};
}

/// Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2.
SmallVector<Value> lion(UpdateMath &f, const UpdateOperands &x) {
  Value blend = average(f, x.slots[0], x.gradient, f.scalar(ACCUM_HYPER_BETA1));
  Value m = average(f, x.slots[0], x.gradient, f.scalar(ACCUM_HYPER_BETA2));
  UpdateOperands decayed = x;
  decayed.parameter = decoupledDecay(f, x);
  return {descend(f, decayed, f.map(Fn::sign, {blend})), m};
}

SmallVector<Value> adagrad(UpdateMath &f, const UpdateOperands &x) {
  Value g = coupledDecay(f, x);
  Value sum = f.add(x.slots[0], f.mul(g, g));
  Value root = f.add(f.map(Fn::sqrt, {sum}), f.narrow(f.scalar(ACCUM_HYPER_EPS)));
  return {descend(f, x, f.div(g, root)), sum};
}

SmallVector<Value> byRule(UpdateRule rule, UpdateMath &math, const UpdateOperands &operands) {
  switch (rule) {
  case UpdateRule::Sgd:
    return sgd(math, operands);
  case UpdateRule::SgdMomentum:
    return momentum(math, operands, /*nesterov=*/false);
  case UpdateRule::SgdNesterov:
    return momentum(math, operands, /*nesterov=*/true);
  case UpdateRule::Adam:
    return adam(math, operands, /*decoupled=*/false);
  case UpdateRule::AdamW:
    return adam(math, operands, /*decoupled=*/true);
  case UpdateRule::Lion:
    return lion(math, operands);
  case UpdateRule::Adagrad:
    return adagrad(math, operands);
  case UpdateRule::Adafactor:
    break; // by tensor
  }
  llvm_unreachable("no rule");
}

} // namespace

SmallVector<Value> updated(const runtime::OptimizerSpec &optimizer, UpdateMath &math,
                           const UpdateOperands &operands) {
  SmallVector<Value> fresh = byRule(optimizer.rule, math, operands);
  if (optimizer.keepsAverage)
    fresh.push_back(math.average(operands.slots.back(), fresh.front()));
  return fresh;
}

} // namespace accum
