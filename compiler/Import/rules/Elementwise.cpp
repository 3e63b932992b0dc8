// SPDX-License-Identifier: Apache-2.0
// Rules: elementwise operators.
#include "compiler/Import/lost/GradientMarks.h"
#include "compiler/Import/model/Contents.h"
#include "compiler/Import/rules/Roots.h"
#include "dialects/Train/TrainDialect.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace mlir;

namespace accum::import {
using nn::ElementwiseFn;

template <ElementwiseFn fn> static void unary(Binder &node) {
  node.set(0, elementwise(node.emit, fn, {&node.input(0)}));
}

template <ElementwiseFn fn> static void binary(Binder &node) {
  node.set(0, elementwise(node.emit, fn, {&node.input(0), &node.input(1)}));
}

/// Any number of operands, folded from the left.
template <ElementwiseFn fn> static void variadic(Binder &node) {
  GraphValue result = node.input(0);
  for (int64_t i = 1; i < node.inputCount(); ++i)
    result = elementwise(node.emit, fn, {&result, &node.input(i)});
  node.set(0, result);
}

static void mean(Binder &node) {
  GraphValue sum = node.input(0);
  for (int64_t i = 1; i < node.inputCount(); ++i)
    sum = elementwise(node.emit, ElementwiseFn::add, {&sum, &node.input(i)});
  GraphValue count(Content::scalar(sum.dtype, Element::floating(static_cast<double>(node.inputCount()))));
  node.set(0, elementwise(node.emit, ElementwiseFn::div, {&sum, &count}));
}

/// x of what Emitter::safeSoftmax makes: a select of a softmax of a select, by one condition. Null for
/// others.
static Value guardedScores(Value value) {
  auto guard = value.getDefiningOp<nn::ElementwiseOp>();
  bool isSelect = guard && guard.getFn() == ElementwiseFn::select;
  auto softmax = isSelect ? guard.getOperand(2).getDefiningOp<nn::SoftmaxOp>() : nn::SoftmaxOp();
  auto scores = softmax ? softmax.getInput().getDefiningOp<nn::ElementwiseOp>() : nn::ElementwiseOp();
  bool isGuarded =
      scores && scores.getFn() == ElementwiseFn::select && scores.getOperand(0) == guard.getOperand(0);
  return isGuarded ? scores.getOperand(2) : Value();
}

/// A tensor of the file, which may have been read as a mask in f16.
static bool isFromFile(Value value) {
  auto read = value.getDefiningOp<nn::ElementwiseOp>();
  if (read && read.getFn() == ElementwiseFn::select)
    value = read.getOperand(2);
  return value.getDefiningOp<train::LoadParamOp>() || value.getDefiningOp<nn::ConstantOp>();
}

/// The same scores, where the file holds the sum's mask as a tensor, with -inf for the lowest number:
/// exporters fold a boolean mask that is known.
static Value withHiddenScores(Emitter &emit, Value scores) {
  auto sum = scores.getDefiningOp<nn::ElementwiseOp>();
  if (!sum || sum.getFn() != ElementwiseFn::add || llvm::none_of(sum.getOperands(), isFromFile))
    return scores;
  SmallVector<Value, 2> operands(sum.getOperands());
  for (Value &mask : operands)
    if (isFromFile(mask)) {
      Type element = elementTypeOf(mask);
      Value lowest = emit.scalar(element, std::numeric_limits<float>::lowest());
      Value hidden = emit.scalar(element, -std::numeric_limits<double>::infinity());
      mask = emit.select(emit.elementwise(ElementwiseFn::le, {mask, lowest}), hidden, mask);
    }
  return emit.elementwise(ElementwiseFn::add, operands);
}

/// Where(IsNaN(p), 0, p) of p = Softmax(x): how exporters write that a row without any allowed score is zero.
/// In attention of the framework they do for boolean masks alone. Null where the operands are not that.
static Value guardedSoftmax(Binder &node) {
  const std::optional<Content> &zero = node.input(1).content;
  Value condition = node.input(0).value, kept = node.input(2).value;
  auto isNan = condition ? condition.getDefiningOp<nn::ElementwiseOp>() : nn::ElementwiseOp();
  if (!isNan || !kept || isNan.getFn() != ElementwiseFn::is_nan || isNan.getOperand(0) != kept || !zero ||
      !zero->isUniform() || zero->only().real != 0)
    return {};
  if (Value scores = guardedScores(kept)) {
    int64_t axis = static_cast<int64_t>(shapeOf(scores).size()) - 1;
    Value hidden = isMaskOfAttention(node.node) ? withHiddenScores(node.emit, scores) : scores;
    return hidden == scores ? kept : node.emit.safeSoftmax(hidden, axis);
  }
  auto softmax = kept.getDefiningOp<nn::SoftmaxOp>();
  if (!softmax || softmax.getLog())
    return {};
  return node.emit.safeSoftmax(softmax.getInput(), static_cast<int64_t>(softmax.getAxis()));
}

/// What attention adds where its boolean mask hides a key. The framework computes with -inf, for which the
/// dynamo exporter writes the lowest number: a row that hides every key would weigh them all the same.
static GraphValue addedWhereHidden(Binder &node) {
  const GraphValue &no = node.input(2);
  bool isNumber = no.content && no.content->isUniform() && isFloat(no.dtype);
  if (!isNumber || no.content->only().real > -largestHalf || !isMaskOfAttention(node.node))
    return no;
  return Content::scalar(no.dtype, Element::floating(-std::numeric_limits<double>::infinity()));
}

static void where(Binder &node) {
  if (Value softmax = guardedSoftmax(node))
    return node.set(0, GraphValue(node.input(2).dtype, softmax));
  const std::optional<Content> &condition = node.input(0).content;
  const GraphValue &yes = node.input(1), no = addedWhereHidden(node);
  if (condition && condition->isUniform() && !(yes.content && no.content)) {
    std::optional<Shape> shape = broadcast(yes.shape, no.shape);
    shape = shape ? broadcast(*shape, node.input(0).shape) : std::nullopt;
    if (shape)
      return node.set(0, broadcastTo(node.emit, condition->only().constant != 0 ? yes : no, *shape));
  }
  node.set(0, elementwise(node.emit, ElementwiseFn::select, {&node.input(0), &yes, &no}));
}

static void castTo(Binder &node) {
  std::optional<DType> to = dtypeFromNumber(node.integer("to", 0));
  if (!to)
    refuseMalformed("casts to an element type that ONNX does not have");
  node.set(0, cast(node.emit, node.input(0), computedIn(*to)));
}

static void castLike(Binder &node) { node.set(0, cast(node.emit, node.input(0), node.input(1).dtype)); }

static void modulo(Binder &node) {
  auto fn = node.integer("fmod", 0) != 0 ? ElementwiseFn::rem : ElementwiseFn::mod;
  node.set(0, elementwise(node.emit, fn, {&node.input(0), &node.input(1)}));
}

/// x^p for the exponents that have cheaper exact forms; null for others.
static Value powerOf(Emitter &emit, Value x, double exponent) {
  if (exponent == 1)
    return x;
  if (exponent == 2)
    return emit.mul(x, x);
  if (exponent == 3)
    return emit.mul(emit.mul(x, x), x);
  if (exponent == 0.5)
    return emit.unary(ElementwiseFn::sqrt, x);
  if (exponent == -0.5)
    return emit.unary(ElementwiseFn::rsqrt, x);
  if (exponent == -1)
    return emit.unary(ElementwiseFn::reciprocal, x);
  return {};
}

static void power(Binder &node) {
  const GraphValue &x = node.input(0);
  GraphValue exponent = node.input(1);
  bool uniform = exponent.content && exponent.content->isUniform() && exponent.content->isConstant();
  if (!x.content && isFloat(x.dtype) && uniform) {
    const Element &e = exponent.content->only();
    double p = isFloat(exponent.dtype) ? e.real : static_cast<double>(e.constant);
    std::optional<Shape> shape = broadcast(x.shape, exponent.shape);
    Value cheap = shape && *shape == x.shape ? powerOf(node.emit, x.lean(node.emit), p) : Value();
    if (Value norm = x.value && !x.selection ? normFromSum(node.node, node.emit, x.value, p) : Value())
      cheap = norm;
    if (cheap) {
      GraphValue result(x.dtype, cheap);
      result.shape = x.shape;
      return node.set(0, result);
    }
  }
  exponent = cast(node.emit, exponent, x.dtype);
  node.set(0, elementwise(node.emit, ElementwiseFn::pow, {&x, &exponent}));
}

static void isInf(Binder &node) {
  if (node.integer("detect_negative", 1) == 0 || node.integer("detect_positive", 1) == 0)
    refuseUnsupported("looks for infinities of one sign");
  unary<ElementwiseFn::is_inf>(node);
}

static GraphValue bound(Binder &node, int64_t i, llvm::StringRef attribute, double absent) {
  if (node.has(i))
    return node.input(i);
  DType type = node.input(0).dtype;
  double limit = node.real(attribute, absent);
  return Content::scalar(type, isFloat(type) ? Element::floating(limit)
                                             : Element::integer(static_cast<int64_t>(limit)));
}

/// The bound where x reaches it, else x; `reaches` is le or ge. So a NaN stays one, and at the bound itself x
/// has no gradient, as PyTorch has it for clamp by numbers, hardtanh and relu6. Computed bounds share it
/// (maximum, minimum).
static GraphValue limit(Binder &node, const GraphValue &x, const GraphValue &bound, ElementwiseFn reaches,
                        ElementwiseFn fn) {
  if (x.content || !bound.content || !isFloat(x.dtype))
    return elementwise(node.emit, fn, {&x, &bound});
  GraphValue reached = elementwise(node.emit, reaches, {&x, &bound});
  return elementwise(node.emit, ElementwiseFn::select, {&reached, &bound, &x});
}

static std::optional<int64_t> numberOf(const GraphValue &x) {
  bool isNumber = !isFloat(x.dtype) && x.content && x.content->isUniform() && x.content->isConstant();
  return isNumber ? std::optional(x.content->only().constant) : std::nullopt;
}

/// An index between two numbers stays within its sample: `x[arange(N), lengths.clamp(0, S - 1)]`.
static void clip(Binder &node) {
  GraphValue result = node.input(0);
  std::optional<int64_t> low, high;
  if (node.has(1) || node.hasAttribute("min")) {
    GraphValue least = bound(node, 1, "min", 0);
    low = numberOf(least);
    result = limit(node, result, least, ElementwiseFn::le, ElementwiseFn::max);
  }
  if (node.has(2) || node.hasAttribute("max")) {
    GraphValue most = bound(node, 2, "max", 0);
    high = numberOf(most);
    result = limit(node, result, most, ElementwiseFn::ge, ElementwiseFn::min);
  }
  bool isKept = low && high && *low <= *high && !result.content && !result.bounds;
  node.set(0, isKept ? withBounds(result, *low, *high) : result);
}

/// Several numbers, or what PyTorch calls a clamp by one.
template <ElementwiseFn reaches, ElementwiseFn fn> static void extremum(Binder &node) {
  if (!isClamp(node.node))
    return variadic<fn>(node);
  node.set(0, limit(node, node.input(0), node.input(1), reaches, fn));
}

static void addComparisons(RuleTable &table) {
  table.add("Equal", 7, binary<ElementwiseFn::eq>);
  table.add("Less", 7, binary<ElementwiseFn::lt>);
  table.add("LessOrEqual", 12, binary<ElementwiseFn::le>);
  table.add("Greater", 7, binary<ElementwiseFn::gt>);
  table.add("GreaterOrEqual", 12, binary<ElementwiseFn::ge>);
  table.add("And", 7, binary<ElementwiseFn::logical_and>);
  table.add("Or", 7, binary<ElementwiseFn::logical_or>);
  table.add("Xor", 7, binary<ElementwiseFn::logical_xor>);
  table.add("Not", 1, unary<ElementwiseFn::logical_not>);
  table.add("IsNaN", 9, unary<ElementwiseFn::is_nan>);
  table.add("IsInf", 10, isInf, "detect_negative detect_positive");
  table.add("Where", 9, where);
}

static void tangent(Binder &node) {
  const GraphValue &x = node.input(0);
  GraphValue sine = elementwise(node.emit, ElementwiseFn::sin, {&x}),
             cosine = elementwise(node.emit, ElementwiseFn::cos, {&x});
  node.set(0, elementwise(node.emit, ElementwiseFn::div, {&sine, &cosine}));
}

static void addUnary(RuleTable &table) {
  table.add("Neg", 6, unary<ElementwiseFn::neg>);
  table.add("Abs", 6, unary<ElementwiseFn::abs>);
  table.add("Sign", 9, unary<ElementwiseFn::sign>);
  table.add("Exp", 6, unary<ElementwiseFn::exp>);
  table.add("Log", 6, unary<ElementwiseFn::log>);
  table.add("Sqrt", 6, squareRoot);
  table.add("Reciprocal", 6, unary<ElementwiseFn::reciprocal>);
  table.add("Tanh", 6, unary<ElementwiseFn::tanh>);
  table.add("Erf", 9, unary<ElementwiseFn::erf>);
  table.add("Sigmoid", 6, unary<ElementwiseFn::sigmoid>);
  table.add("Relu", 6, unary<ElementwiseFn::relu>);
  table.add("Asin", 7, unary<ElementwiseFn::asin>);
  table.add("Acos", 7, unary<ElementwiseFn::acos>);
  table.add("Atan", 7, unary<ElementwiseFn::atan>);
  table.add("Sin", 7, unary<ElementwiseFn::sin>);
  table.add("Cos", 7, unary<ElementwiseFn::cos>);
  table.add("Tan", 7, tangent);
  table.add("Floor", 6, unary<ElementwiseFn::floor>);
  table.add("Ceil", 6, unary<ElementwiseFn::ceil>);
  table.add("Round", 11, unary<ElementwiseFn::round>);
  table.add("Softplus", 1, unary<ElementwiseFn::softplus>);
}

void addElementwiseRules(RuleTable &table) {
  addComparisons(table);
  addUnary(table);
  table.add("Add", 7, binary<ElementwiseFn::add>);
  table.add("Sub", 7, binary<ElementwiseFn::sub>);
  table.add("Mul", 7, binary<ElementwiseFn::mul>);
  table.add("Div", 7, binary<ElementwiseFn::div>);
  table.add("Mod", 10, modulo, "fmod");
  table.add("Pow", 7, power);
  table.add("Min", 8, extremum<ElementwiseFn::ge, ElementwiseFn::min>);
  table.add("Max", 8, extremum<ElementwiseFn::le, ElementwiseFn::max>);
  table.add("Sum", 8, variadic<ElementwiseFn::add>);
  table.add("Mean", 8, mean);
  table.add("Clip", 6, clip, "min max");
  table.add("Cast", 6, castTo, "to ~saturate ~round_mode");
  table.add("CastLike", 15, castLike, "~saturate ~round_mode");
}

} // namespace accum::import
