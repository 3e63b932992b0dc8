// SPDX-License-Identifier: Apache-2.0
// Derivatives of the elementwise functions: for each, d loss / d operand from dy, the operands and the
// result.
#include "dialects/NN/Detached.h"
#include "dialects/NN/Placement.h"
#include "passes/Differentiate/Vjp.h"
#include <numbers>

using namespace mlir;

namespace accum {

using Fn = nn::ElementwiseFn;

/// 1 - tanh(x)^2, in the tails, where that has no digits left, as 4 e / (1 + e)^2 with e = exp(-2 |x|).
static Value tanhSlope(Vjp &v, Value x, Value y) {
  Value magnitude = v.map(Fn::abs, {x}), one = v.constant(1, x);
  Value e = v.map(Fn::exp, {v.mul(magnitude, v.constant(-2, x))});
  Value sum = v.add(e, one), tail = v.div(v.mul(e, v.constant(4, x)), v.mul(sum, sum));
  return v.select(v.map(Fn::lt, {magnitude, one}), v.sub(one, v.mul(y, y)), tail);
}

constexpr double kTwoByRootPi = 2 * std::numbers::inv_sqrtpi;

/// 1 / sqrt(1 - x^2), whose difference is exact near one as a product.
static Value arcSlope(Vjp &v, Value x) {
  Value one = v.constant(1, x);
  return v.map(Fn::rsqrt, {v.mul(v.sub(one, x), v.add(x, one))});
}

/// other / (mine^2 + other^2), by the larger of both so that no square leaves the range; zero at the origin,
/// as in PyTorch.
static Value angleSlope(Vjp &v, Value mine, Value other) {
  Value zero = v.constant(0, mine);
  Value size = v.map(Fn::max, {v.map(Fn::abs, {mine}), v.map(Fn::abs, {other})});
  Value a = v.div(mine, size), b = v.div(other, size);
  Value slope = v.div(v.div(b, v.add(v.mul(a, a), v.mul(b, b))), size);
  return v.select(v.map(Fn::eq, {size, zero}), zero, slope);
}

/// dy times the derivative of a unary function at x, with y = f(x).
static FailureOr<Value> unary(Vjp &v, Fn fn, Value dy, Value x, Value y) {
  auto c = [&](double value) { return v.constant(value, x); };
  switch (fn) {
  case Fn::neg:
    return v.neg(dy);
  case Fn::abs: // 0 at 0, also of an infinite cotangent
    return v.select(v.map(Fn::eq, {x, c(0)}), c(0), v.mul(dy, v.map(Fn::sign, {x})));
  case Fn::exp:
    return v.mul(dy, y);
  case Fn::log:
    return v.div(dy, x);
  case Fn::log1p:
    return v.div(dy, v.map(Fn::add, {x, c(1)}));
  case Fn::expm1:
    return v.mul(dy, v.map(Fn::exp, {x}));
  case Fn::sqrt:
    return v.div(v.mul(dy, c(0.5)), y);
  case Fn::rsqrt:
    return v.mul(v.mul(dy, c(-0.5)), v.mul(y, v.mul(y, y)));
  case Fn::reciprocal:
    return v.neg(v.mul(dy, v.mul(y, y)));
  case Fn::tanh:
    return v.mul(dy, tanhSlope(v, x, y));
  case Fn::erf: // 2 / sqrt(pi) * exp(-x^2)
    return v.mul(dy, v.mul(c(kTwoByRootPi), v.map(Fn::exp, {v.neg(v.mul(x, x))})));
  case Fn::erfc:
    return v.mul(dy, v.mul(c(-kTwoByRootPi), v.map(Fn::exp, {v.neg(v.mul(x, x))})));
  case Fn::erfcx:
    return v.mul(dy, v.map(Fn::erfcx_grad, {x}));
  case Fn::log_erfc: // both have the factor exp(-x^2)
    return v.div(v.mul(dy, c(-kTwoByRootPi)), v.map(Fn::erfcx, {x}));
  case Fn::asin:
    return v.mul(dy, arcSlope(v, x));
  case Fn::acos:
    return v.neg(v.mul(dy, arcSlope(v, x)));
  case Fn::atan:
    return v.div(dy, v.add(v.mul(x, x), c(1)));
  case Fn::sigmoid: // 1 - y has no digits left where y is nearly one
    return v.mul(dy, v.mul(y, v.map(Fn::sigmoid, {v.neg(x)})));
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

/// dy times the slope of PyTorch's binary cross-entropy at a probability, (p - t) / max(p * (1 - p), 1e-12):
/// not that of its logarithms, which has no bound.
static Value probability(Vjp &v, Value dy, Value p, Value t) {
  Value spread = v.mul(p, v.sub(v.constant(1, p), p));
  return v.div(v.mul(dy, v.sub(p, t)), v.map(Fn::max, {spread, v.constant(1e-12, p)}));
}

/// The same times the sigmoid's own slope, p * (1 - p). The difference p - t loses no digits where it is
/// small.
static Value logit(Vjp &v, Value dy, Value x, Value t) {
  Value p = v.map(Fn::sigmoid, {x}), rest = v.map(Fn::sigmoid, {v.neg(x)}), one = v.constant(1, x);
  Value off = v.sub(v.mul(p, v.sub(one, t)), v.mul(rest, t));
  Value fade = v.map(Fn::min, {v.mul(v.mul(p, rest), v.constant(1e12, x)), one});
  // As the value has it, the sigmoid of a double is one from here on.
  fade = v.select(v.map(Fn::ge, {x, v.constant(53 * std::numbers::ln2, x)}), v.constant(0, x), fade);
  return v.mul(dy, v.mul(off, fade));
}

/// The logarithm of 1 - p less that of p, both no lower than -100.
static Value ofTarget(Vjp &v, Value dy, Value logarithm, Value complement) {
  Value lowest = v.constant(-100, logarithm);
  return v.mul(dy, v.sub(v.map(Fn::max, {complement, lowest}), v.map(Fn::max, {logarithm, lowest})));
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
  case Fn::atan2:
    return v.mul(dy, angleSlope(v, a, b));
  case Fn::binary_cross_entropy:
    return probability(v, dy, a, b);
  case Fn::sigmoid_cross_entropy:
    return logit(v, dy, a, b);
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
  case Fn::atan2:
    return v.neg(v.mul(dy, angleSlope(v, b, a)));
  case Fn::binary_cross_entropy:
    return ofTarget(v, dy, v.map(Fn::log, {a}), v.map(Fn::log1p, {v.neg(a)}));
  case Fn::sigmoid_cross_entropy:
    return ofTarget(v, dy, v.neg(v.map(Fn::softplus, {v.neg(a)})), v.neg(v.map(Fn::softplus, {a})));
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

static bool isKnown(Value value) { return value.getDefiningOp<nn::ConstantOp>() != nullptr; }

/// Whether a derivative can be infinite where the operands are finite, or an operand infinite where the
/// result is of no account.
static bool hasPole(nn::ElementwiseOp op) {
  switch (op.getFn()) {
  case Fn::log:
  case Fn::log1p:
  case Fn::exp:
  case Fn::expm1:
  case Fn::sqrt:
  case Fn::rsqrt:
  case Fn::reciprocal:
  case Fn::pow:
  case Fn::erfcx:
  case Fn::log_erfc:
  case Fn::asin:
  case Fn::acos:
  case Fn::atan2:
  case Fn::binary_cross_entropy:
    return true;
  case Fn::mul:
    return llvm::none_of(op.getOperands(), isKnown);
  case Fn::div:
    return !isKnown(op.getOperands()[1]);
  default:
    return false;
  }
}

/// Whether `value` is one of several that something is chosen from, also after further steps.
static bool isChosenFrom(Value value) {
  constexpr unsigned kMost = 64; // values that are followed
  SmallVector<Value> work{value};
  DenseSet<Value> seen{value};
  for (unsigned next = 0; next < work.size() && next < kMost; ++next)
    for (OpOperand &use : work[next].getUses()) {
      Operation *user = use.getOwner();
      auto elementwise = dyn_cast<nn::ElementwiseOp>(user);
      Fn fn = elementwise ? elementwise.getFn() : Fn::neg;
      if ((fn == Fn::select && use.getOperandNumber() > 0) || fn == Fn::min || fn == Fn::max)
        return true;
      bool follows =
          isa<nn::ElementwiseOp, nn::ReshapeOp, nn::BroadcastOp, nn::TransposeOp, nn::ReduceOp>(user);
      if (follows && seen.insert(user->getResult(0)).second)
        work.push_back(user->getResult(0));
    }
  return false;
}

/// A branch that was not taken has no gradient, although 0 / 0 and 0 * inf are none: of the framework's
/// functions that exporters write so, each has its own derivative.
static Value withoutZeros(Vjp &v, Value slope) {
  Value dy = v.cotangent();
  if (nn::Placement::of(dy.getType()).isPartial()) // a term of a sum: whether that is zero is not known yet
    return slope;
  return v.select(v.map(Fn::eq, {dy, v.constant(0, dy)}), v.constant(0, slope), slope);
}

LogicalResult differentiateElementwise(Vjp &v, nn::ElementwiseOp op) {
  if (isFlat(op.getFn()))
    return success();
  bool isGuarded = hasPole(op) && isChosenFrom(op.getResult());
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (!v.wants(i) || (i == 1 && nn::isDetached(op)))
      continue;
    FailureOr<Value> value = derivative(v, op, i);
    if (failed(value))
      return failure();
    v.give(i, v.unbroadcast(isGuarded ? withoutZeros(v, *value) : *value, op->getOperand(i)));
  }
  return success();
}

} // namespace accum
