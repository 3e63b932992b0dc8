// SPDX-License-Identifier: Apache-2.0
// Elementwise functions of numbers, and of what is known of the positions after an end.
#include "passes/Lengths/Term.h"
#include <cmath>
#include <limits>

using namespace mlir;
using Fn = accum::nn::ElementwiseFn;

namespace accum::lengths {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

double rounded(double number, Type element) {
  auto real = dyn_cast<FloatType>(element);
  if (!real || real.isF64())
    return number;
  APFloat value(number);
  bool loses = false;
  value.convert(real.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
  return value.convertToDouble();
}

static std::optional<double> unary(Fn fn, double x) {
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
  case Fn::sqrt:
    return std::sqrt(x);
  case Fn::reciprocal:
    return 1 / x;
  case Fn::tanh:
    return std::tanh(x);
  case Fn::erf:
    return std::erf(x);
  case Fn::sigmoid:
    return 1 / (1 + std::exp(-x));
  case Fn::relu:
    return std::max(x, 0.0);
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
  case Fn::gelu:
  case Fn::gelu_tanh:
  case Fn::silu:
    return x == 0 ? std::optional<double>(0) : std::nullopt;
  default:
    return std::nullopt;
  }
}

static std::optional<double> compare(Fn fn, double a, double b) {
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
    return std::nullopt;
  }
}

static std::optional<double> binary(Fn fn, double a, double b, bool isInteger) {
  bool divides = fn == Fn::div || fn == Fn::mod || fn == Fn::rem;
  if (divides && isInteger && b == 0)
    return std::nullopt;
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
  default:
    return compare(fn, a, b);
  }
}

std::optional<double> apply(Fn fn, ArrayRef<double> x, Type element) {
  std::optional<double> y = x.size() == 1   ? unary(fn, x[0])
                            : x.size() == 2 ? binary(fn, x[0], x[1], !isa<FloatType>(element))
                                            : std::optional(x[0] != 0 ? x[1] : x[2]);
  return y ? std::optional(rounded(*y, element)) : std::nullopt;
}

Term Term::of(const Fill &fill) {
  Kind kind = fill.kind == Fill::Kind::Number ? Kind::Number
              : fill.kind == Fill::Kind::Low  ? Kind::Low
                                              : Kind::High;
  return {kind, fill.number};
}

static Term low() { return {Term::Kind::Low}; }
static Term high() { return {Term::Kind::High}; }
static bool isKnown(const Term &term) { return term.kind != Term::Kind::Any; }

static Term unary(Fn fn, Term x) {
  if (!x.isLow() && !x.isHigh())
    return {};
  switch (fn) {
  case Fn::neg:
    return x.isLow() ? high() : low();
  case Fn::exp:
  case Fn::sigmoid:
  case Fn::relu:
  case Fn::softplus:
    return x.isLow() ? Term::of(0) : Term();
  default:
    return {};
  }
}

/// Low or High, whatever finite is added to it.
static Term add(Term a, Term b) {
  if (b.isLow() || b.isHigh())
    std::swap(a, b);
  bool isMoved = a.isLow() ? !b.isHigh() : a.isHigh() && !b.isLow();
  bool isBounded = isKnown(b) || b.isOrdinary || (a.isLow() && b.isCapped);
  if (!isMoved || !isBounded)
    return {};
  if (a.kind == Term::Kind::Number && std::isinf(a.number))
    return a;
  return a.isLow() ? low() : high();
}

static Term negated(Term x) {
  if (x.kind == Term::Kind::Number)
    return Term::of(-x.number);
  x.isCapped = x.isOrdinary; // of the negative
  return x.isLow() ? high() : x.isHigh() ? low() : x;
}

static Term multiply(Term a, Term b) {
  if (b.isNumber(0) || a.isLow() || a.isHigh())
    std::swap(a, b);
  if (a.isNumber(0))
    return (isKnown(b) || b.isFinite) && !(b.kind == Term::Kind::Number && std::isinf(b.number)) ? Term::of(0)
                                                                                                 : Term();
  if (a.kind != Term::Kind::Number || a.number == 0 || !(b.isLow() || b.isHigh()))
    return {};
  if (std::abs(a.number) < 1e-3)
    return {};
  return a.number > 0 ? b : negated(b);
}

/// Low is finite; minus infinity stays what it is, and may be what an unknown operand holds.
static Term smaller(Term a, Term b) {
  if (!a.isLow())
    std::swap(a, b);
  if (!a.isLow() || (b.isUnknown() && !b.isFinite))
    return {};
  for (const Term &each : {a, b})
    if (each.kind == Term::Kind::Number && std::isinf(each.number) && each.number < 0)
      return each;
  return low();
}

/// A comparison of Low or High with a number of ordinary size.
static Term compare(Fn fn, Term a, Term b) {
  if (a.kind == Term::Kind::Number && (b.kind == Term::Kind::Low || b.kind == Term::Kind::High)) {
    Fn mirrored = fn == Fn::lt   ? Fn::gt
                  : fn == Fn::le ? Fn::ge
                  : fn == Fn::gt ? Fn::lt
                  : fn == Fn::ge ? Fn::le
                                 : fn;
    return compare(mirrored, b, a);
  }
  bool isDecided = (a.kind == Term::Kind::Low || a.kind == Term::Kind::High) &&
                   b.kind == Term::Kind::Number && std::abs(b.number) < -kLow;
  double stand = a.isLow() ? -kInfinity : kInfinity;
  std::optional<double> result = isDecided ? compare(fn, stand, b.number) : std::nullopt;
  return result ? Term::of(*result) : Term();
}

static Term binary(Fn fn, Term a, Term b) {
  switch (fn) {
  case Fn::add:
    return add(a, b);
  case Fn::sub:
    return add(a, negated(b));
  case Fn::mul:
    return multiply(a, b);
  case Fn::div:
    if (a.isNumber(0) && b.isFinite)
      return Term::of(0);
    return b.kind == Term::Kind::Number && b.number != 0 ? multiply(Term::of(1 / b.number), a) : Term();
  case Fn::min:
    return smaller(a, b);
  case Fn::max:
    return negated(smaller(negated(a), negated(b)));
  case Fn::logical_and:
    return a.isNumber(0) || b.isNumber(0) ? Term::of(0) : Term();
  case Fn::logical_or:
    return a.isNumber(1) || b.isNumber(1) ? Term::of(1) : Term();
  default:
    return compare(fn, a, b);
  }
}

static Term select(Term condition, Term a, Term b) {
  if (condition.kind == Term::Kind::Number)
    return condition.number != 0 ? a : b;
  if (a.kind == Term::Kind::Number && b.isNumber(a.number))
    return a;
  return a.isLow() && b.isLow() ? low() : a.isHigh() && b.isHigh() ? high() : Term();
}

Term apply(Fn fn, ArrayRef<Term> x, Type element) {
  if (llvm::all_of(x, [](const Term &each) { return each.kind == Term::Kind::Number; })) {
    auto numbers = llvm::map_to_vector(x, [](const Term &each) { return each.number; });
    std::optional<double> y = apply(fn, numbers, element);
    if (y && !std::isnan(*y))
      return Term::of(*y);
  }
  return x.size() == 1 ? unary(fn, x[0]) : x.size() == 2 ? binary(fn, x[0], x[1]) : select(x[0], x[1], x[2]);
}

} // namespace accum::lengths
