// SPDX-License-Identifier: Apache-2.0
// What attention does with single rows of scores. Bits do not depend on the instructions that the processor
// has: sums run in lanes of a fixed number, and nothing is contracted.
#ifndef ACCUM_RUNTIME_HOST_ATTENTIONROWS_H
#define ACCUM_RUNTIME_HOST_ATTENTIONROWS_H

#include <cstdint>

namespace accum::runtime {

template <typename T> struct RowFunctions {
  /// x = x * factor.
  void (*scale)(T *x, int64_t n, T factor);
  /// x = x * factor + addend.
  void (*scaleAdd)(T *x, int64_t n, T factor, const T *addend);
  /// x = otherwise where `shown` is 0.
  void (*hide)(T *x, int64_t n, const uint8_t *shown, T otherwise);
  /// The largest element; NaNs count as small.
  T (*top)(const T *x, int64_t n);
  /// x = exp(x - shift), for shift >= x but for rounding; returns the sum. In f32 within 2 units in the last
  /// place, and 0 below 2^-126.
  T (*exponentials)(T *x, int64_t n, T shift);
  T (*dot)(const T *x, const T *y, int64_t n);
  /// x = weights * (x - delta) * factor.
  void (*scoreCotangents)(T *x, int64_t n, const T *weights, T delta, T factor);
};

/// For this processor; T is float or double.
template <typename T> const RowFunctions<T> &rowFunctions();

} // namespace accum::runtime
#endif
