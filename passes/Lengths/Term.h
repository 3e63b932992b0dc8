// SPDX-License-Identifier: Apache-2.0
// Elementwise functions of numbers, and of what is known of the positions after an end.
#pragma once

#include "dialects/NN/NNDialect.h"
#include "passes/Lengths/Facts.h"

namespace accum::lengths {

/// The function of numbers; nothing where it is none that tables and fills need.
std::optional<double> apply(nn::ElementwiseFn fn, llvm::ArrayRef<double> operands, mlir::Type element);

/// `number` as the element type holds it.
double rounded(double number, mlir::Type element);

/// One operand at the positions after the end.
struct Term {
  enum class Kind { Any, Number, Low, High };
  Kind kind = Kind::Any;
  double number = 0;
  /// Of Any: as in Facts.
  bool isFinite = true, isOrdinary = true, isCapped = true;

  static Term of(const Fill &fill);
  static Term of(double number) { return {Kind::Number, number}; }
  bool isNumber(double wanted) const { return kind == Kind::Number && number == wanted; }
  bool isLow() const { return kind == Kind::Low || (kind == Kind::Number && number <= kLow); }
  bool isHigh() const { return kind == Kind::High || (kind == Kind::Number && number >= -kLow); }
  bool isUnknown() const { return kind == Kind::Any; }
};

/// The result there; Any where nothing is known. `element` is that of the last operand.
Term apply(nn::ElementwiseFn fn, llvm::ArrayRef<Term> operands, mlir::Type element);

} // namespace accum::lengths
