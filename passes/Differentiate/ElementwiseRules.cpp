// SPDX-License-Identifier: Apache-2.0
// Derivatives of the elementwise functions: for each, d loss / d operand from dy, the operands and the
// result.
#include "dialects/NN/Detached.h"
#include "passes/Differentiate/Vjp.h"

using namespace mlir;

namespace accum {

using Fn = nn::ElementwiseFn;

/// dy times the derivative of a unary function at x, with y = f(x).
static FailureOr<Value> unary(Vjp &v, Fn fn, Value dy, Value x, Value y) {
  auto c = [&](double value) { return v.constant(value, x); };
  switch (fn) {
  case Fn::neg:
    return v.neg(dy);
  case Fn::abs:
    return v.mul(dy, v.map(Fn::sign, {x}));
  case Fn::exp:
    return v.mul(dy, y);
  case Fn::log:
    return v.div(dy, x);
  case Fn::sqrt:
    return v.div(v.mul(dy, c(0.5)), y);
  case Fn::rsqrt:
    return v.mul(v.mul(dy, c(-0.5)), v.mul(y, v.mul(y, y)));
  case Fn::reciprocal:
    return v.neg(v.mul(dy, v.mul(y, y)));
  case Fn::tanh:
    return v.mul(dy, v.sub(c(1), v.mul(y, y)));
  case Fn::erf: // 2 / sqrt(pi) * exp(-x^2)
    return v.mul(dy, v.mul(c(1.1283791670955126), v.map(Fn::exp, {v.neg(v.mul(x, x))})));
  case Fn::sigmoid:
    return v.mul(dy, v.mul(y, v.sub(c(1), y)));
  case Fn::relu:
    return v.select(v.map(Fn::gt, {x, c(0)}), dy, c(0));
  case Fn::gelu:
    return v.mul(dy, v.map(Fn::gelu_grad, {x}));
  case Fn::gelu_tanh:
    return v.mul(dy, v.map(Fn::gelu_tanh_grad, {x}));
  case Fn::silu:
    return v.mul(dy, v.map(Fn::silu_grad, {x}));
  case Fn::sin:
    return v.mul(dy, v.map(Fn::cos, {x}));
  case Fn::cos:
    return v.neg(v.mul(dy, v.map(Fn::sin, {x})));
  case Fn::softplus:
    return v.mul(dy, v.map(Fn::sigmoid, {x}));
  default:
    return failure();
  }
}

/// Where two operands of min or max are equal, each gets half, as in PyTorch.
static Value extremum(Vjp &v, Fn wins, Value dy, Value mine, Value other) {
  Value half = v.mul(dy, v.constant(0.5, dy)), zero = v.constant(0, dy);
  return v.select(v.map(wins, {mine, other}), dy, v.select(v.map(Fn::eq, {mine, other}), half, zero));
}

/// Exponents that are one number other than 0.
static bool isNeverZero(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto numbers = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
  return numbers && numbers.isSplat() && !numbers.getSplatValue<APFloat>().isZero();
}

/// dy * b * a^(b-1); 0 where b is, also at a = 0, where a^-1 is infinite.
static Value powerLhs(Vjp &v, Value dy, Value a, Value b) {
  Value slope = v.mul(dy, v.mul(b, v.map(Fn::pow, {a, v.sub(b, v.constant(1, b))})));
  return isNeverZero(b) ? slope : v.select(v.map(Fn::eq, {b, v.constant(0, b)}), v.constant(0, slope), slope);
}

/// dy * y * log(a); 0 at a = 0, where the logarithm is infinite, unless b < 0. As in PyTorch.
static Value powerRhs(Vjp &v, Value dy, Value a, Value b, Value y) {
  Value slope = v.mul(dy, v.mul(y, v.map(Fn::log, {a})));
  Value flat =
      v.map(Fn::logical_and, {v.map(Fn::eq, {a, v.constant(0, a)}), v.map(Fn::ge, {b, v.constant(0, b)})});
  return v.select(flat, v.constant(0, slope), slope);
}

static FailureOr<Value> binaryLhs(Vjp &v, Fn fn, Value dy, Value a, Value b) {
  switch (fn) {
  case Fn::add:
  case Fn::sub:
  case Fn::mod:
  case Fn::rem:
    return dy;
  case Fn::mul:
    return v.mul(dy, b);
  case Fn::div:
    return v.div(dy, b);
  case Fn::pow:
    return powerLhs(v, dy, a, b);
  case Fn::min:
    return extremum(v, Fn::lt, dy, a, b);
  case Fn::max:
    return extremum(v, Fn::gt, dy, a, b);
  default:
    return failure();
  }
}

static FailureOr<Value> binaryRhs(Vjp &v, Fn fn, Value dy, Value a, Value b, Value y) {
  switch (fn) {
  case Fn::add:
    return dy;
  case Fn::sub:
    return v.neg(dy);
  case Fn::mul:
    return v.mul(dy, a);
  case Fn::div: // -y / b
    return v.neg(v.div(v.mul(dy, y), b));
  case Fn::pow:
    return powerRhs(v, dy, a, b, y);
  case Fn::mod: // a + n * b with a whole n, piecewise constant
  case Fn::rem:
    return v.mul(dy, v.map(Fn::round, {v.div(v.sub(y, a), b)}));
  case Fn::min:
    return extremum(v, Fn::lt, dy, b, a);
  case Fn::max:
    return extremum(v, Fn::gt, dy, b, a);
  default:
    return failure();
  }
}

/// Piecewise constant functions: their derivative is 0 wherever it exists, so nothing is given.
static bool isFlat(Fn fn) { return fn == Fn::sign || fn == Fn::floor || fn == Fn::ceil || fn == Fn::round; }

static FailureOr<Value> derivative(Vjp &v, nn::ElementwiseOp op, unsigned operand) {
  Value dy = v.cotangent(), y = op.getResult();
  OperandRange x = op.getOperands();
  if (op.getFn() == Fn::select)
    return operand == 1 ? v.select(x[0], dy, v.constant(0, dy)) : v.select(x[0], v.constant(0, dy), dy);
  if (x.size() == 1)
    return unary(v, op.getFn(), dy, x[0], y);
  return operand == 0 ? binaryLhs(v, op.getFn(), dy, x[0], x[1])
                      : binaryRhs(v, op.getFn(), dy, x[0], x[1], y);
}

LogicalResult differentiateElementwise(Vjp &v, nn::ElementwiseOp op) {
  if (isFlat(op.getFn()))
    return success();
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (!v.wants(i) || (i == 1 && nn::isDetached(op)))
      continue;
    FailureOr<Value> value = derivative(v, op, i);
    if (failed(value))
      return failure();
    v.give(i, v.unbroadcast(*value, op->getOperand(i)));
  }
  return success();
}

} // namespace accum
