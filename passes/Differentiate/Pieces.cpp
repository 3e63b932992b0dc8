// SPDX-License-Identifier: Apache-2.0
// Evaluates the pieces at the number where they meet.
#include "passes/Differentiate/Pieces.h"
#include <cmath>
#include <optional>

using namespace mlir;

namespace accum {

using Fn = nn::ElementwiseFn;
using Number = std::optional<double>;

namespace {

/// Pieces are formulas of a few ops; one that is longer is not followed.
constexpr int kDepth = 12;

Value withoutShape(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<nn::ReshapeOp, nn::BroadcastOp, nn::TransposeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

Number numberOf(Value value) {
  auto constant = withoutShape(value).getDefiningOp<nn::ConstantOp>();
  auto elements = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  if (!elements || !isa<FloatType>(elements.getElementType()))
    return {};
  return elements.getSplatValue<APFloat>().convertToDouble();
}

/// Values where one of them is a known number.
struct At {
  Value x;
  double number;

  Number operator()(Value value, int depth = kDepth) const;
  Number unary(Fn fn, double a) const;
  Number binary(Fn fn, Number a, Number b) const;
};

Number At::unary(Fn fn, double a) const {
  switch (fn) {
  case Fn::neg:
    return -a;
  case Fn::abs:
    return std::fabs(a);
  case Fn::exp:
    return std::exp(a);
  case Fn::expm1:
    return std::expm1(a);
  case Fn::log:
    return std::log(a);
  case Fn::log1p:
    return std::log1p(a);
  case Fn::softplus:
    return std::log1p(std::exp(a));
  case Fn::relu:
    return std::max(a, 0.0);
  case Fn::tanh:
    return std::tanh(a);
  case Fn::sigmoid:
    return 1 / (1 + std::exp(-a));
  case Fn::sqrt:
    return std::sqrt(a);
  default:
    return {};
  }
}

/// Zero times anything finite is zero: a learned slope does not matter there.
Number At::binary(Fn fn, Number a, Number b) const {
  if (fn == Fn::mul && (a == 0.0 || b == 0.0))
    return 0;
  if (!a || !b)
    return {};
  switch (fn) {
  case Fn::add:
    return *a + *b;
  case Fn::sub:
    return *a - *b;
  case Fn::mul:
    return *a * *b;
  case Fn::div:
    return *a / *b;
  case Fn::min:
    return std::min(*a, *b);
  case Fn::max:
    return std::max(*a, *b);
  case Fn::pow:
    return std::pow(*a, *b);
  default:
    return {};
  }
}

Number At::operator()(Value value, int depth) const {
  value = withoutShape(value);
  if (value == x)
    return number;
  if (Number constant = numberOf(value))
    return constant;
  auto op = value.getDefiningOp<nn::ElementwiseOp>();
  if (!op || depth == 0)
    return {};
  Number a = (*this)(op.getOperand(0), depth - 1);
  if (op->getNumOperands() == 1)
    return a ? unary(op.getFn(), *a) : Number();
  if (op.getFn() != Fn::select)
    return binary(op.getFn(), a, (*this)(op.getOperand(1), depth - 1));
  // Where the pieces of an inner select meet as well, both are its value.
  Number yes = (*this)(op.getOperand(1), depth - 1), no = (*this)(op.getOperand(2), depth - 1);
  return yes == no ? yes : Number();
}

} // namespace

bool isNumber(Value value) { return numberOf(value).has_value(); }

bool piecesMeet(nn::ElementwiseOp select, nn::ElementwiseOp comparison) {
  Value left = withoutShape(comparison.getOperand(0)), right = withoutShape(comparison.getOperand(1));
  Value yes = withoutShape(select.getOperand(1)), no = withoutShape(select.getOperand(2));
  if ((yes == left && no == right) || (yes == right && no == left))
    return true;
  Number limit = numberOf(right);
  Value x = left;
  if (!limit) {
    limit = numberOf(left);
    x = right;
  }
  if (!limit)
    return false;
  At at{x, *limit};
  Number a = at(yes), b = at(no);
  return a && b && std::fabs(*a - *b) <= 1e-5 * (1 + std::fabs(*a));
}

} // namespace accum
