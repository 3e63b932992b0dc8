// SPDX-License-Identifier: Apache-2.0
// Constants and elementwise ops, one scalar at a time.
#include "test/dialects/NN/Evaluator.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using Fn = accum::nn::ElementwiseFn;

namespace accum::test {

static double geluTanhArgument(double x) {
  return std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
}

static double activation(Fn fn, double x) {
  switch (fn) {
  case Fn::sigmoid:
    return 1 / (1 + std::exp(-x));
  case Fn::relu:
    return std::max(x, 0.0);
  case Fn::gelu:
    return x / 2 * std::erfc(-x / std::numbers::sqrt2);
  case Fn::gelu_tanh:
    return x / 2 * (1 + std::tanh(geluTanhArgument(x)));
  case Fn::silu:
    return x / (1 + std::exp(-x));
  case Fn::softplus:
    return std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0);
  case Fn::gelu_grad:
    return std::erfc(-x / std::numbers::sqrt2) / 2 +
           x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
  case Fn::gelu_tanh_grad: {
    double t = std::tanh(geluTanhArgument(x));
    return (1 + t) / 2 + x / 2 * (1 - t * t) * std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
  }
  case Fn::silu_grad: {
    double s = 1 / (1 + std::exp(-x));
    return s * (1 + x * (1 - s));
  }
  default:
    llvm_unreachable("not an activation");
  }
}

static double crossEntropy(double logarithm, double complement, double target) {
  return (target - 1) * std::max(complement, -100.0) - target * std::max(logarithm, -100.0);
}

static double softplus(double x) { return activation(Fn::softplus, x); }

/// From 25 on by the continued fraction 1 / (x + (1/2) / (x + 1 / (x + (3/2) / (x + ...)))).
static double erfcx(double x) {
  if (x < 25)
    return std::exp(x * x) * std::erfc(x);
  double rest = x;
  for (int k = 30; k > 0; --k)
    rest = x + k / 2.0 / rest;
  return std::numbers::inv_sqrtpi / rest;
}

/// The derivative of erfcx for x > 25, 2 x erfcx(x) - 2 / sqrt(pi), by its asymptotic series.
static double erfcxGrad(double x) {
  if (x < 25)
    return 2 * x * erfcx(x) - 2 * std::numbers::inv_sqrtpi;
  double term = 1, sum = 0;
  for (int k = 1; k < 12; ++k)
    sum += term *= -(2 * k - 1) / (2 * x * x);
  return 2 * std::numbers::inv_sqrtpi * sum;
}

static double logErfc(double x) { return x < 20 ? std::log(std::erfc(x)) : std::log(erfcx(x)) - x * x; }

static double unary(Fn fn, double x) {
  switch (fn) {
  case Fn::neg:
    return -x;
  case Fn::abs:
    return std::abs(x);
  case Fn::sign:
    return (x > 0) - (x < 0);
  case Fn::exp:
    return std::exp(x);
  case Fn::log:
    return std::log(x);
  case Fn::log1p:
    return std::log1p(x);
  case Fn::expm1:
    return std::expm1(x);
  case Fn::sqrt:
    return std::sqrt(x);
  case Fn::rsqrt:
    return 1 / std::sqrt(x);
  case Fn::reciprocal:
    return 1 / x;
  case Fn::tanh:
    return std::tanh(x);
  case Fn::erf:
    return std::erf(x);
  case Fn::erfc:
    return std::erfc(x);
  case Fn::erfcx:
    return erfcx(x);
  case Fn::erfcx_grad:
    return erfcxGrad(x);
  case Fn::log_erfc:
    return logErfc(x);
  case Fn::asin:
    return std::asin(x);
  case Fn::acos:
    return std::acos(x);
  case Fn::atan:
    return std::atan(x);
  case Fn::sin:
    return std::sin(x);
  case Fn::cos:
    return std::cos(x);
  case Fn::floor:
    return std::floor(x);
  case Fn::ceil:
    return std::ceil(x);
  case Fn::round:
    return std::nearbyint(x);
  case Fn::logical_not:
    return x == 0;
  case Fn::is_nan:
    return std::isnan(x);
  case Fn::is_inf:
    return std::isinf(x);
  default:
    return activation(fn, x);
  }
}

static double compare(Fn fn, double a, double b) {
  switch (fn) {
  case Fn::logical_and:
    return a != 0 && b != 0;
  case Fn::logical_or:
    return a != 0 || b != 0;
  case Fn::logical_xor:
    return (a != 0) != (b != 0);
  case Fn::eq:
    return a == b;
  case Fn::ne:
    return a != b;
  case Fn::lt:
    return a < b;
  case Fn::le:
    return a <= b;
  case Fn::gt:
    return a > b;
  case Fn::ge:
    return a >= b;
  default:
    llvm_unreachable("not a binary function");
  }
}

static double binary(Fn fn, double a, double b, bool isInteger) {
  if (isInteger && b == 0 && (fn == Fn::div || fn == Fn::mod || fn == Fn::rem))
    return 0;
  switch (fn) {
  case Fn::add:
    return a + b;
  case Fn::sub:
    return a - b;
  case Fn::mul:
    return a * b;
  case Fn::div:
    return isInteger ? std::trunc(a / b) : a / b;
  case Fn::pow:
    return std::pow(a, b);
  case Fn::min:
    return std::min(a, b);
  case Fn::max:
    return std::max(a, b);
  case Fn::mod:
    return a - std::floor(a / b) * b;
  case Fn::rem:
    return std::fmod(a, b);
  case Fn::atan2:
    return std::atan2(a, b);
  case Fn::binary_cross_entropy:
    return crossEntropy(std::log(a), std::log1p(-a), b);
  case Fn::sigmoid_cross_entropy:
    return crossEntropy(-softplus(-a), 1 / (1 + std::exp(-a)) == 1 ? -100 : -softplus(a), b);
  default:
    return compare(fn, a, b);
  }
}

/// The element that a result's index reads of an operand, aligned right, extents 1 repeated.
static double readBroadcast(const Array &array, ArrayRef<int64_t> index) {
  SmallVector<int64_t> own(index.take_back(array.rank()));
  for (auto [i, extent] : llvm::zip(own, array.shape))
    i = extent == 1 ? 0 : i;
  return array.at(own);
}

static Array evaluate(Evaluator &e, nn::ElementwiseOp op) {
  Array result = Array::zeros(e.shapeOf(op));
  bool isInteger = cast<RankedTensorType>(op.getOperands().back().getType()).getElementType().isIntOrIndex();
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<double> x;
    for (Value operand : op.getOperands())
      x.push_back(readBroadcast(e.at(operand), index));
    double &y = result.at(index);
    y = x.size() == 1   ? unary(op.getFn(), x[0])
        : x.size() == 2 ? binary(op.getFn(), x[0], x[1], isInteger)
                        : (x[0] != 0 ? x[1] : x[2]);
  });
  return result;
}

static Array evaluate(Evaluator &e, nn::CastOp op) {
  Array result = e.at(op.getInput());
  Type to = cast<RankedTensorType>(op.getType()).getElementType();
  for (double &x : result.data)
    x = to.isInteger(1) ? x != 0 : !to.isInteger() ? x : std::isfinite(x) ? std::trunc(x) : 0;
  return result;
}

static double numberOf(Attribute element) {
  if (auto real = dyn_cast<FloatAttr>(element))
    return real.getValueAsDouble();
  auto integer = cast<IntegerAttr>(element);
  // One type for both arms: a common one would be unsigned, and -100 no longer negative.
  return integer.getType().isInteger(1) ? static_cast<double>(integer.getValue().getZExtValue())
                                        : static_cast<double>(integer.getValue().getSExtValue());
}

/// A splat with a batch axis holds as many samples as the batch.
static Array evaluate(Evaluator &e, nn::ConstantOp op) {
  Array result = Array::zeros(e.shapeOf(op));
  auto elements = cast<DenseElementsAttr>(op.getValue());
  auto values = elements.getValues<Attribute>();
  for (size_t i = 0; i < result.data.size(); ++i)
    result.data[i] = numberOf(elements.isSplat() ? values[0] : values[i]);
  return result;
}

bool evaluateElementwise(Evaluator &e, Operation *op) {
  if (auto elementwise = dyn_cast<nn::ElementwiseOp>(op)) {
    e.set(elementwise, evaluate(e, elementwise));
  } else if (auto castOp = dyn_cast<nn::CastOp>(op)) {
    e.set(castOp, evaluate(e, castOp));
  } else if (auto constant = dyn_cast<nn::ConstantOp>(op)) {
    e.set(constant, evaluate(e, constant));
  } else if (auto iota = dyn_cast<nn::IotaOp>(op)) {
    Array result = Array::zeros(e.shapeOf(iota));
    forEachIndex(result.shape, [&](ArrayRef<int64_t> index) { result.at(index) = index[iota.getDim()]; });
    e.set(iota, std::move(result));
  } else {
    return false;
  }
  return true;
}

} // namespace accum::test
