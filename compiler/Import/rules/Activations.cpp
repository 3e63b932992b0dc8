// SPDX-License-Identifier: Apache-2.0
// Rules: activations that are written in other elementwise functions. Where two pieces meet, the derivative
// is that of PyTorch's own.
#include "compiler/Import/walk/Binder.h"

using namespace mlir;

namespace accum::import {
using nn::ElementwiseFn;

static Value number(Emitter &emit, Value like, double value) {
  return emit.scalar(elementTypeOf(like), value);
}

/// yes where x > 0, no elsewhere.
static Value wherePositive(Emitter &emit, Value x, Value yes, Value no) {
  return emit.select(emit.elementwise(ElementwiseFn::gt, {x, number(emit, x, 0)}), yes, no);
}

/// exp(x * rate) - 1 for x <= 0. What is not taken must not overflow: its derivative is multiplied by zero.
static Value decay(Emitter &emit, Value x, double rate) {
  Value negative = wherePositive(emit, x, number(emit, x, 0), x);
  return emit.sub(emit.unary(ElementwiseFn::exp, emit.scale(negative, rate)), number(emit, x, 1));
}

static void gelu(Binder &node) {
  std::string form = node.text("approximate", "none");
  if (form != "none" && form != "tanh")
    refuseMalformed("has approximate = " + form);
  auto fn = form == "tanh" ? ElementwiseFn::gelu_tanh : ElementwiseFn::gelu;
  node.set(0, elementwise(node.emit, fn, {&node.input(0)}));
}

static void swish(Binder &node) {
  double alpha = node.real("alpha", 1);
  if (alpha == 1)
    return node.set(0, elementwise(node.emit, ElementwiseFn::silu, {&node.input(0)}));
  Value x = node.value(0);
  node.set(0, node.emit.mul(x, node.emit.unary(ElementwiseFn::sigmoid, node.emit.scale(x, alpha))));
}

static void leakyRelu(Binder &node) {
  Value x = node.value(0);
  node.set(0, wherePositive(node.emit, x, x, node.emit.scale(x, node.real("alpha", 0.01))));
}

static void pRelu(Binder &node) {
  Value x = node.value(0);
  node.set(0, wherePositive(node.emit, x, x, node.emit.mul(x, node.value(1))));
}

static void thresholdedRelu(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0), threshold = number(emit, x, node.real("alpha", 1));
  node.set(0, emit.select(emit.elementwise(ElementwiseFn::gt, {x, threshold}), x, number(emit, x, 0)));
}

static void elu(Binder &node) {
  Value x = node.value(0);
  node.set(0, wherePositive(node.emit, x, x, node.emit.scale(decay(node.emit, x, 1), node.real("alpha", 1))));
}

static void celu(Binder &node) {
  Value x = node.value(0);
  double alpha = node.real("alpha", 1);
  if (alpha == 0)
    refuseMalformed("has alpha = 0, by which it divides");
  node.set(0, wherePositive(node.emit, x, x, node.emit.scale(decay(node.emit, x, 1 / alpha), alpha)));
}

static void selu(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0);
  double alpha = node.real("alpha", 1.67326319217681884765625);
  Value unscaled = wherePositive(emit, x, x, emit.scale(decay(emit, x, 1), alpha));
  node.set(0, emit.scale(unscaled, node.real("gamma", 1.05070102214813232421875)));
}

/// alpha * x + beta between 0 and 1.
static Value ramp(Emitter &emit, Value x, double alpha, double beta) {
  Value line = emit.add(emit.scale(x, alpha), number(emit, x, beta)), one = number(emit, x, 1);
  Value capped = emit.select(emit.elementwise(ElementwiseFn::lt, {line, one}), line, one);
  return wherePositive(emit, line, capped, number(emit, x, 0));
}

static void hardSigmoid(Binder &node) {
  node.set(0, ramp(node.emit, node.value(0), node.real("alpha", 0.2), node.real("beta", 0.5)));
}

static void hardSwish(Binder &node) {
  Value x = node.value(0);
  node.set(0, node.emit.mul(x, ramp(node.emit, x, 1.0 / 6, 0.5)));
}

static void mish(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0);
  node.set(0, emit.mul(x, emit.unary(ElementwiseFn::tanh, emit.unary(ElementwiseFn::softplus, x))));
}

static void softsign(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0);
  node.set(0, emit.div(x, emit.add(emit.unary(ElementwiseFn::abs, x), number(emit, x, 1))));
}

void addActivationRules(RuleTable &table) {
  table.add("Celu", 12, celu, "alpha");
  table.add("Elu", 6, elu, "alpha");
  table.add("Gelu", 20, gelu, "approximate");
  table.add("HardSigmoid", 6, hardSigmoid, "alpha beta");
  table.add("HardSwish", 14, hardSwish);
  table.add("LeakyRelu", 6, leakyRelu, "alpha");
  table.add("Mish", 18, mish);
  table.add("PRelu", 7, pRelu);
  table.add("Selu", 6, selu, "alpha gamma");
  table.add("Softsign", 1, softsign);
  table.add("Swish", 24, swish, "alpha");
  table.add("ThresholdedRelu", 10, thresholdedRelu, "alpha");
}

} // namespace accum::import
