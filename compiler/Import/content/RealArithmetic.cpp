// SPDX-License-Identifier: Apache-2.0
// Arithmetic on known floats, in the precision of the graph.
#include "compiler/Import/content/Affine.h"
#include <cmath>

namespace accum::import {
using nn::ElementwiseFn;
using Maybe = std::optional<Element>;

template <class Real> static std::optional<Real> realUnary(ElementwiseFn fn, Real x) {
  switch (fn) {
  case ElementwiseFn::neg:
    return -x;
  case ElementwiseFn::abs:
    return std::abs(x);
  case ElementwiseFn::sign:
    return static_cast<Real>((x > 0) - (x < 0));
  case ElementwiseFn::exp:
    return std::exp(x);
  case ElementwiseFn::log:
    return std::log(x);
  case ElementwiseFn::sqrt:
    return std::sqrt(x);
  case ElementwiseFn::reciprocal:
    return Real{1} / x;
  case ElementwiseFn::floor:
    return std::floor(x);
  case ElementwiseFn::ceil:
    return std::ceil(x);
  case ElementwiseFn::round:
    return std::nearbyint(x);
  case ElementwiseFn::sin:
    return std::sin(x);
  case ElementwiseFn::cos:
    return std::cos(x);
  default:
    return std::nullopt;
  }
}

template <class Real> static std::optional<Real> realBinary(ElementwiseFn fn, Real x, Real y) {
  switch (fn) {
  case ElementwiseFn::add:
    return x + y;
  case ElementwiseFn::sub:
    return x - y;
  case ElementwiseFn::mul:
    return x * y;
  case ElementwiseFn::div:
    return x / y;
  case ElementwiseFn::pow:
    return std::pow(x, y);
  case ElementwiseFn::min:
    return std::isnan(x) || x < y ? x : y;
  case ElementwiseFn::max:
    return std::isnan(x) || x > y ? x : y;
  default:
    return std::nullopt;
  }
}

static Maybe realPredicate(ElementwiseFn fn, double x, double y) {
  switch (fn) {
  case ElementwiseFn::eq:
    return Element::boolean(x == y);
  case ElementwiseFn::ne:
    return Element::boolean(x != y);
  case ElementwiseFn::lt:
    return Element::boolean(x < y);
  case ElementwiseFn::le:
    return Element::boolean(x <= y);
  case ElementwiseFn::gt:
    return Element::boolean(x > y);
  case ElementwiseFn::ge:
    return Element::boolean(x >= y);
  case ElementwiseFn::is_nan:
    return Element::boolean(std::isnan(x));
  case ElementwiseFn::is_inf:
    return Element::boolean(std::isinf(x));
  default:
    return std::nullopt;
  }
}

template <class Real> static Maybe evaluateAs(ElementwiseFn fn, llvm::ArrayRef<Element> operands) {
  Real x = static_cast<Real>(operands[0].real), y = static_cast<Real>(operands.back().real);
  if (Maybe answer = realPredicate(fn, x, y))
    return answer;
  std::optional<Real> result = operands.size() == 1 ? realUnary(fn, x) : realBinary(fn, x, y);
  return result ? Maybe(Element::floating(*result)) : std::nullopt;
}

Maybe evaluateReal(ElementwiseFn fn, DType type, llvm::ArrayRef<Element> operands) {
  if (type == DType::Float32)
    return evaluateAs<float>(fn, operands);
  if (type == DType::Float64)
    return evaluateAs<double>(fn, operands);
  return std::nullopt;
}

} // namespace accum::import
