// SPDX-License-Identifier: Apache-2.0
// Rules: hyperbolic functions and their inverses, in forms that keep their digits near zero and their range.
#include "compiler/Import/walk/Binder.h"

using namespace mlir;

namespace accum::import {
using nn::ElementwiseFn;

static Value number(Emitter &emit, Value like, double value) {
  return emit.scalar(elementTypeOf(like), value);
}

static Value plus(Emitter &emit, Value x, double value) { return emit.add(x, number(emit, x, value)); }

/// Of x / 2: exp overflows at half of the range of sinh and cosh.
static Value halfSine(Emitter &emit, Value x) {
  Value half = emit.scale(x, 0.5), minus = emit.scale(x, -0.5);
  Value both = emit.sub(emit.unary(ElementwiseFn::expm1, half), emit.unary(ElementwiseFn::expm1, minus));
  return emit.scale(both, 0.5);
}

/// 2 * sinh(x / 2) * cosh(x / 2)
static void hyperbolicSine(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0);
  Value twiceCosine = emit.add(emit.unary(ElementwiseFn::exp, emit.scale(x, 0.5)),
                               emit.unary(ElementwiseFn::exp, emit.scale(x, -0.5)));
  node.set(0, emit.mul(halfSine(emit, x), twiceCosine));
}

/// 1 + 2 * sinh(x / 2)^2, whose derivative has its digits near zero.
static void hyperbolicCosine(Binder &node) {
  Value half = halfSine(node.emit, node.value(0));
  node.set(0, plus(node.emit, node.emit.mul(node.emit.scale(half, 2), half), 1));
}

/// (log1p(x) - log1p(-x)) / 2
static void inverseTangent(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0);
  Value plus = emit.unary(ElementwiseFn::log1p, x),
        minus = emit.unary(ElementwiseFn::log1p, emit.scale(x, -1));
  node.set(0, emit.scale(emit.sub(plus, minus), 0.5));
}

/// log1p(t + t * (t / (1 + sqrt(1 + t^2)))) of t >= 0
static Value inverseSineOf(Emitter &emit, Value t) {
  Value root = emit.unary(ElementwiseFn::sqrt, plus(emit, emit.mul(t, t), 1));
  return emit.unary(ElementwiseFn::log1p, emit.add(t, emit.mul(t, emit.div(t, plus(emit, root, 1)))));
}

/// An odd function: only the side of x that is not zero gives a value and a derivative.
static void inverseSine(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0), zero = number(emit, x, 0);
  Value isPositive = emit.elementwise(ElementwiseFn::gt, {x, zero});
  Value right = emit.select(isPositive, x, zero), left = emit.select(isPositive, zero, emit.scale(x, -1));
  node.set(0, emit.sub(inverseSineOf(emit, right), inverseSineOf(emit, left)));
}

/// log1p(t + sqrt(t) * sqrt(t + 2)) of t = x - 1
static void inverseCosine(Binder &node) {
  Emitter &emit = node.emit;
  Value t = plus(emit, node.value(0), -1);
  Value root =
      emit.mul(emit.unary(ElementwiseFn::sqrt, t), emit.unary(ElementwiseFn::sqrt, plus(emit, t, 2)));
  node.set(0, emit.unary(ElementwiseFn::log1p, emit.add(t, root)));
}

void addHyperbolicRules(RuleTable &table) {
  table.add("Acosh", 9, inverseCosine);
  table.add("Asinh", 9, inverseSine);
  table.add("Atanh", 9, inverseTangent);
  table.add("Cosh", 9, hyperbolicCosine);
  table.add("Sinh", 9, hyperbolicSine);
}

} // namespace accum::import
