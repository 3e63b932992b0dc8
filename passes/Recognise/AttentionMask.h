// SPDX-License-Identifier: Apache-2.0
// Which keys a query sees, read off the ways in which exporters write masks.
#pragma once

#include "dialects/NN/NNDialect.h"
#include "mlir/IR/PatternMatch.h"
#include <optional>

namespace accum::recognise {

/// A condition that must hold for a key to be seen: an i1 value, or a number that must not be 0; or the
/// opposite.
struct Condition {
  mlir::Value value;
  bool negated = false;
  bool operator==(const Condition &other) const { return value == other.value && negated == other.negated; }
};

/// Conditions that must all hold, and groups of conditions of which one must not hold.
struct Visibility {
  llvm::SmallVector<Condition> all;
  llvm::SmallVector<llvm::SmallVector<Condition>> notAll;

  /// Adds `condition`, or its opposite, taken apart.
  void require(mlir::Value condition, bool negated);
  /// Rewrites `notAll` by what `all` implies; false where that does not suffice.
  bool resolve();
  /// Takes out conditions that say `key <= query` over the last two axes; whether there was one.
  bool takeCausal();
  /// The rest as one i1 value that broadcasts against the scores; null where nothing is left.
  mlir::Value build(mlir::PatternRewriter &rewriter, mlir::Location location) const;
};

/// A lowest float, or -inf: what hidden scores get. Smaller magnitudes (-1e4) can be outweighed and are
/// numbers like any other.
bool hides(double number);

/// A float value that is 0 where a key is seen and one number that hides elsewhere.
struct HidingTerm {
  Visibility visible;
  double hidden = 0;
};
std::optional<HidingTerm> hidingTermOf(mlir::Value value);

/// a + b, broadcast against each other.
mlir::Value sumOf(mlir::PatternRewriter &rewriter, mlir::Value a, mlir::Value b);

/// Whether a trained parameter has any influence on `value`.
bool dependsOnTrained(mlir::Value value);

} // namespace accum::recognise
