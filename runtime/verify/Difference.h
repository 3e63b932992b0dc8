// SPDX-License-Identifier: Apache-2.0
// Two steps over the same samples, and how far they are apart.
#ifndef ACCUM_RUNTIME_VERIFY_DIFFERENCE_H
#define ACCUM_RUNTIME_VERIFY_DIFFERENCE_H

#include <cstddef>
#include <vector>

namespace accum::runtime::verify {

/// Loss and gradients of one step, in double.
struct Outcome {
  double loss = 0;
  std::vector<std::vector<double>> gradients; ///< in the order of the trained parameters
};

/// The largest difference of each tensor from a reference, relative to the tensor's size.
struct Difference {
  double loss = 0;
  std::vector<double> tensors;
  void take(const Difference &other);
  bool isWithin(double tolerance, const Difference &noise) const;
  double largest() const;
  /// Of a tensor, where this is what rounding does; empty: nothing is known of that.
  double allowed(double tolerance, size_t tensor) const;
};

/// How gradients are compared.
struct Measure {
  /// What is zero in exact arithmetic (a bias in front of a softmax) is noise: tensors count as no smaller
  /// than this part of the largest one.
  double floor;
  /// Rounding in another order stays far below; a lost, doubled or leaked sample, or a mean of means, far
  /// above.
  double tolerance;
  double lastDigits;   ///< of the parameters: a relative change of some of them
  bool isNorm = false; ///< tensors are compared by their norms, else by their largest elements

  static Measure ofSingle();
  static Measure ofDouble();
  /// Products of other numbers of rows may sum in another order, and what lies near the middle of two
  /// numbers of bf16 is then rounded to the other one, as is what follows from it.
  static Measure ofBf16();
};
/// What rounding may make of it, where a change of the parameters in their last digits makes `noise`.
double allowedOf(double tolerance, double noise);

Difference compare(const Outcome &got, const Outcome &reference, const Measure &measure);

} // namespace accum::runtime::verify
#endif
