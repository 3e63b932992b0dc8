// SPDX-License-Identifier: Apache-2.0
// What is known of a value along the axes that depend on the size: where it is real, and what is after that.
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include <cmath>
#include <memory>
#include <optional>
#include <string>

namespace accum::lengths {

/// As a place: after every end. Its negative: before every start.
inline constexpr int64_t kEverywhere = int64_t{1} << 40;

/// A place that is counted from the end of a sample, further on by `by`.
inline int64_t moved(int64_t place, int64_t by) {
  return std::abs(place) >= kEverywhere / 2 ? place : place + by;
}

/// A score that no exponential can tell from minus infinity.
inline constexpr double kLow = -1e9;

/// What stands at every position from one on.
struct Fill {
  /// Low: at most kLow, exactly or after something finite was added. High: its negative.
  enum class Kind { Number, Low, High };
  Kind kind = Kind::Number;
  double number = 0;
  /// Positions from length + `from` on. Causal: positions after q + `from`, q being the position along the
  /// value's other ragged axis.
  int64_t from = 0;
  bool isCausal = false;
  /// Only for those that are known along the other axis, as a causal one.
  bool isOfKnown = false;
  /// The number at all positions before.
  std::optional<double> before = std::nullopt;

  bool isOfAll() const { return !isCausal && !isOfKnown; }
  bool isNumber(double wanted) const { return kind == Kind::Number && number == wanted; }
  bool isMinusInfinity() const { return kind == Kind::Number && std::isinf(number) && number < 0; }
  bool isLow() const { return kind == Kind::Low || (kind == Kind::Number && number <= kLow); }
  bool isHigh() const { return kind == Kind::High || (kind == Kind::Number && number >= -kLow); }
};

/// What stands at a place that every sample has. Ordinary: no score that hides, and finite.
struct First {
  enum class Kind { Unknown, Ordinary, Number };
  Kind kind = Kind::Unknown;
  double number = 0;

  static First of(double number) { return {Kind::Number, number}; }
  bool isOrdinary() const {
    return kind == Kind::Ordinary || (kind == Kind::Number && std::isfinite(number) && number > kLow);
  }
};

/// An axis whose extent is outer x (size + shift) x inner, positions counted in the middle.
struct RaggedAxis {
  int64_t axis = 0;
  int64_t outer = 1, inner = 1;
  int64_t shift = 0;
  /// Positions before length + `known` do not depend on the size, nor on what is after the end.
  int64_t known = 0;
  /// Holds for all positions along the other axes; a causal one for those that are known there.
  std::optional<Fill> fill = std::nullopt;
  /// At position 0, of a value that is not ordinary everywhere; whatever the other axes' positions.
  First first = {};

  /// Sums and softmaxes agree where all positions from here on are neutral: a smaller size lacks them.
  int64_t end() const { return std::min(known, shift); }
  /// Its elements are positions, one by one.
  bool isPlain() const { return outer == 1 && inner == 1; }
  bool isAlignedWith(const RaggedAxis &other) const {
    return outer == other.outer && inner == other.inner && shift == other.shift;
  }
};

/// Why the loss would depend on the size, and what can be done.
struct Cause {
  mlir::Operation *op; ///< while its graph lives
  std::string sentence, wayOut;
};

/// As an axis: all of them.
inline constexpr int64_t kAnyAxis = -1;

/// A number that was added, the same at all positions along an axis and another one at another size.
struct Drift {
  int64_t axis = kAnyAxis;
  std::shared_ptr<const Cause> cause;
};

struct Facts {
  llvm::SmallVector<RaggedAxis, 2> axes;
  /// What is after the end is finite: times zero it is zero.
  bool isFinite = true;
  /// No element is so low that it hides, nor infinite.
  bool isOrdinary = true;
  /// No element is as high as the negative of what hides, nor plus infinity.
  bool isCapped = true;
  /// Made of constants only.
  bool isTable = false;
  /// Every element is this number.
  std::optional<double> number;
  /// Every element is the sample's length plus this.
  std::optional<int64_t> length;
  /// Every element is a position before length + `below`, not negative.
  std::optional<int64_t> below;
  /// No element is smaller.
  std::optional<double> least;
  /// Of two ragged axes: where both are at one position, before the end. In a window a query does not see key
  /// 0, but itself.
  First diagonal;
  /// All of this holds but for that.
  std::optional<Drift> drift;
  /// The value depends on the size, or on what is after the end.
  std::shared_ptr<const Cause> wrong;

  const RaggedAxis *along(int64_t axis) const;
  RaggedAxis *along(int64_t axis);
  /// The one other ragged axis; null where there is none, or several.
  const RaggedAxis *other(int64_t axis) const;
  RaggedAxis *other(int64_t axis);
};

/// A number is known wherever it stands; causal fills need exactly two ragged axes.
void normalise(Facts &facts);

} // namespace accum::lengths
