// SPDX-License-Identifier: Apache-2.0
// Arithmetic on elements that are affine in the sample's index and the batch size.
#include "compiler/Import/content/Affine.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>

namespace accum::import {
using nn::ElementwiseFn;
using Maybe = std::optional<Element>;

Element Element::integer(int64_t constant, int64_t perIndex, int64_t perBatch) {
  Element element;
  element.constant = constant;
  element.perIndex = static_cast<int32_t>(perIndex);
  element.perBatch = static_cast<int32_t>(perBatch);
  return element;
}

Element Element::floating(double value) {
  Element element;
  element.real = value;
  return element;
}

bool sameElement(const Element &a, const Element &b) {
  return a.constant == b.constant && a.perIndex == b.perIndex && a.perBatch == b.perBatch;
}

Bounds boundsOf(const Element &e) {
  // At fixed N the extremes are at i = 0 and i = N - 1; both are lines in N, N >= 1.
  int64_t lowSlope = int64_t{e.perBatch} + std::min(e.perIndex, 0);
  int64_t highSlope = int64_t{e.perBatch} + std::max(e.perIndex, 0);
  int64_t atOne = 0;
  Bounds bounds;
  if (llvm::AddOverflow(e.constant, int64_t{e.perBatch}, atOne))
    return bounds;
  if (lowSlope >= 0)
    bounds.low = atOne;
  if (highSlope <= 0)
    bounds.high = atOne;
  return bounds;
}

/// An affine integer whose coefficients fit; constants wrap at the type's width.
static Maybe affine(DType type, int64_t constant, int64_t perIndex, int64_t perBatch) {
  auto fits = [](int64_t value) { return value == static_cast<int32_t>(value); };
  if (!fits(perIndex) || !fits(perBatch))
    return std::nullopt;
  int bits = bitWidth(type);
  bool isSigned = type == DType::Int64 || type == DType::Int32 || type == DType::Int16 || type == DType::Int8;
  if (type == DType::Bool)
    constant = constant != 0;
  else if (bits < 64)
    constant = isSigned ? static_cast<int64_t>(static_cast<uint64_t>(constant) << (64 - bits)) >> (64 - bits)
                        : static_cast<int64_t>(static_cast<uint64_t>(constant) & ((uint64_t{1} << bits) - 1));
  return Element::integer(constant, perIndex, perBatch);
}

static int64_t wrap(__int128 value) { return static_cast<int64_t>(static_cast<unsigned __int128>(value)); }

static Maybe addScaled(DType type, const Element &a, const Element &b, int64_t sign) {
  return affine(type, wrap(__int128{a.constant} + __int128{sign} * b.constant),
                int64_t{a.perIndex} + sign * b.perIndex, int64_t{a.perBatch} + sign * b.perBatch);
}

static Maybe multiply(DType type, const Element &a, const Element &b) {
  if (!a.isConstant() && !b.isConstant())
    return std::nullopt;
  const Element &scale = a.isConstant() ? a : b, &other = a.isConstant() ? b : a;
  __int128 perIndex = __int128{scale.constant} * other.perIndex,
           perBatch = __int128{scale.constant} * other.perBatch;
  if (perIndex != static_cast<int32_t>(perIndex) || perBatch != static_cast<int32_t>(perBatch))
    return std::nullopt;
  return affine(type, wrap(__int128{scale.constant} * other.constant), static_cast<int64_t>(perIndex),
                static_cast<int64_t>(perBatch));
}

static int64_t floorDiv(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

static bool isNonNegative(const Element &e) {
  Bounds bounds = boundsOf(e);
  return bounds.low && *bounds.low >= 0;
}

/// 0 <= a < b for all N and i.
static bool isBelow(DType type, const Element &a, const Element &b) {
  Maybe gap = addScaled(type, b, a, -1);
  Bounds bounds = gap ? boundsOf(*gap) : Bounds{};
  return isNonNegative(a) && bounds.low && *bounds.low > 0;
}

/// Quotient rounded down, where it is affine: a constant divisor that divides the coefficients, a dividend
/// that is a multiple of the divisor, or one that stays below it.
static Maybe divideDown(DType type, const Element &a, const Element &b) {
  if (isBelow(type, a, b))
    return Element::integer(0);
  if (b.isConstant()) {
    int64_t k = b.constant;
    if (k == 0 || (k == -1 && a.constant == std::numeric_limits<int64_t>::min()) || a.perIndex % k != 0 ||
        a.perBatch % k != 0)
      return std::nullopt;
    return affine(type, floorDiv(a.constant, k), a.perIndex / k, a.perBatch / k);
  }
  Bounds divisor = boundsOf(b);
  if (!divisor.low || *divisor.low <= 0)
    return std::nullopt;
  int64_t leadA = b.perBatch ? a.perBatch : a.perIndex, leadB = b.perBatch ? b.perBatch : b.perIndex;
  if (leadA % leadB != 0)
    return std::nullopt;
  int64_t q = leadA / leadB;
  bool proportional =
      a.constant == q * b.constant && a.perIndex == q * b.perIndex && a.perBatch == q * b.perBatch;
  return proportional ? Maybe(Element::integer(q)) : std::nullopt;
}

/// ONNX integer division truncates: the same as rounding down where the quotient is not negative or exact.
static Maybe divideTruncating(DType type, const Element &a, const Element &b) {
  if (a.isConstant() && b.isConstant()) {
    if (b.constant == 0 || (b.constant == -1 && a.constant == std::numeric_limits<int64_t>::min()))
      return std::nullopt;
    return affine(type, a.constant / b.constant, 0, 0);
  }
  Maybe quotient = divideDown(type, a, b);
  if (!quotient || (isNonNegative(a) && isNonNegative(b)))
    return quotient;
  Maybe product = multiply(type, *quotient, b);
  return product && sameElement(*product, a) ? quotient : std::nullopt;
}

/// With the divisor's sign.
static Maybe modulo(DType type, const Element &a, const Element &b) {
  Maybe quotient = divideDown(type, a, b);
  Maybe product = quotient ? multiply(type, *quotient, b) : std::nullopt;
  return product ? addScaled(type, a, *product, -1) : std::nullopt;
}

/// With the dividend's sign.
static Maybe remainder(DType type, const Element &a, const Element &b) {
  Maybe quotient = divideTruncating(type, a, b);
  Maybe product = quotient ? multiply(type, *quotient, b) : std::nullopt;
  return product ? addScaled(type, a, *product, -1) : std::nullopt;
}

/// -1, 0 or 1 where a - b has the same sign for all N and i; `atMost` and `atLeast` weaken it to a <= b, a >=
/// b.
struct Order {
  bool below = false, equal = false, above = false, atMost = false, atLeast = false;
};
static Order compareElements(const Element &a, const Element &b) {
  __int128 difference = __int128{a.constant} - b.constant;
  if (difference != static_cast<int64_t>(difference))
    return {difference < 0, false, difference > 0, difference < 0, difference > 0};
  Bounds bounds = boundsOf(Element::integer(
      static_cast<int64_t>(difference), int64_t{a.perIndex} - b.perIndex, int64_t{a.perBatch} - b.perBatch));
  Order order;
  order.below = bounds.high && *bounds.high < 0;
  order.atMost = bounds.high && *bounds.high <= 0;
  order.above = bounds.low && *bounds.low > 0;
  order.atLeast = bounds.low && *bounds.low >= 0;
  order.equal = order.atMost && order.atLeast;
  return order;
}

/// Yes where `yes`, no where `no`, else not the same for all.
static Maybe decided(bool yes, bool no) { return yes || no ? Maybe(Element::boolean(yes)) : std::nullopt; }

static Maybe compareIntegers(ElementwiseFn fn, const Element &a, const Element &b) {
  Order order = compareElements(a, b);
  bool apart = order.below || order.above;
  switch (fn) {
  case ElementwiseFn::eq:
    return decided(order.equal, apart);
  case ElementwiseFn::ne:
    return decided(apart, order.equal);
  case ElementwiseFn::lt:
    return decided(order.below, order.atLeast);
  case ElementwiseFn::le:
    return decided(order.atMost, order.above);
  case ElementwiseFn::gt:
    return decided(order.above, order.atMost);
  case ElementwiseFn::ge:
    return decided(order.atLeast, order.below);
  case ElementwiseFn::min:
    return order.atMost ? Maybe(a) : order.atLeast ? Maybe(b) : std::nullopt;
  case ElementwiseFn::max:
    return order.atLeast ? Maybe(a) : order.atMost ? Maybe(b) : std::nullopt;
  default:
    return std::nullopt;
  }
}

static Maybe power(DType type, const Element &a, const Element &b) {
  if (!a.isConstant() || !b.isConstant() || b.constant < 0 || b.constant > 64)
    return std::nullopt;
  Maybe result = Element::integer(1);
  for (int64_t i = 0; i < b.constant && result; ++i)
    result = multiply(type, *result, a);
  return result;
}

static Maybe integerUnary(ElementwiseFn fn, DType type, const Element &a) {
  switch (fn) {
  case ElementwiseFn::neg:
    return addScaled(type, Element::integer(0), a, -1);
  case ElementwiseFn::abs:
    return isNonNegative(a) ? Maybe(a)
           : a.isConstant() ? affine(type, wrap(-__int128{a.constant}), 0, 0)
                            : std::nullopt;
  case ElementwiseFn::sign:
    return a.isConstant() ? Maybe(Element::integer((a.constant > 0) - (a.constant < 0))) : std::nullopt;
  case ElementwiseFn::logical_not:
    return Element::boolean(a.constant == 0);
  default:
    return std::nullopt;
  }
}

static Maybe integerBinary(ElementwiseFn fn, DType type, const Element &a, const Element &b) {
  switch (fn) {
  case ElementwiseFn::add:
    return addScaled(type, a, b, 1);
  case ElementwiseFn::sub:
    return addScaled(type, a, b, -1);
  case ElementwiseFn::mul:
    return multiply(type, a, b);
  case ElementwiseFn::div:
    return divideTruncating(type, a, b);
  case ElementwiseFn::mod:
    return modulo(type, a, b);
  case ElementwiseFn::rem:
    return remainder(type, a, b);
  case ElementwiseFn::pow:
    return power(type, a, b);
  case ElementwiseFn::logical_and:
    return Element::boolean(a.constant && b.constant);
  case ElementwiseFn::logical_or:
    return Element::boolean(a.constant || b.constant);
  case ElementwiseFn::logical_xor:
    return Element::boolean((a.constant != 0) != (b.constant != 0));
  default:
    return compareIntegers(fn, a, b);
  }
}

bool givesBool(ElementwiseFn fn) {
  return fn == ElementwiseFn::logical_not || fn == ElementwiseFn::is_nan || fn == ElementwiseFn::is_inf ||
         (fn >= ElementwiseFn::logical_and && fn <= ElementwiseFn::ge);
}

Maybe evaluate(ElementwiseFn fn, DType type, llvm::ArrayRef<Element> operands) {
  if (fn == ElementwiseFn::select)
    return operands[0].constant ? operands[1] : operands[2];
  if (isFloat(type))
    return evaluateReal(fn, type, operands);
  return operands.size() == 1 ? integerUnary(fn, type, operands[0])
                              : integerBinary(fn, type, operands[0], operands[1]);
}

Maybe convert(const Element &element, DType from, DType to) {
  if (isFloat(from)) {
    double value = element.real;
    if (to == DType::Bool)
      return Element::boolean(value != 0);
    if (to == DType::Float32)
      return Element::floating(static_cast<float>(value));
    if (to == DType::Float64)
      return element;
    if (isFloat(to) || !(std::abs(value) < 0x1p62))
      return std::nullopt;
    return affine(to, static_cast<int64_t>(value), 0, 0);
  }
  if (to == DType::Float64 || to == DType::Float32) {
    if (!element.isConstant())
      return std::nullopt;
    return Element::floating(to == DType::Float32 ? static_cast<float>(element.constant)
                                                  : static_cast<double>(element.constant));
  }
  if (isFloat(to))
    return std::nullopt;
  if (to == DType::Bool)
    return compareIntegers(ElementwiseFn::ne, element, Element::integer(0));
  return affine(to, element.constant, element.perIndex, element.perBatch);
}

} // namespace accum::import
