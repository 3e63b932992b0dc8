// SPDX-License-Identifier: Apache-2.0
// How far a number stands above the latest ones: whether the loss or the gradients of a step are a spike.
#ifndef ACCUM_RUNTIME_SESSION_SPIKEDETECTOR_H
#define ACCUM_RUNTIME_SESSION_SPIKEDETECTOR_H

#include <cmath>
#include <cstdint>
#include <deque>

namespace accum::runtime {

/// A window of the last 128 numbers, as llm.c has it: what is a spike enters the window, too, so that a new
/// level is no spike for ever.
class SpikeDetector {
public:
  static constexpr size_t kWindow = 128;

  /// Standard deviations of `value` above the mean of the window before it; 0 until the window is full, and
  /// where all of the window is equal.
  double add(double value) {
    double score = window.size() == kWindow ? deviations(value) : 0;
    window.push_back(value);
    if (window.size() > kWindow)
      window.pop_front();
    return score;
  }

  const std::deque<double> &values() const { return window; }
  void restore(std::deque<double> values) { window = std::move(values); }

private:
  double deviations(double value) const {
    double mean = 0, square = 0;
    for (double each : window)
      mean += each / kWindow;
    for (double each : window)
      square += (each - mean) * (each - mean) / kWindow;
    return square > 0 ? (value - mean) / std::sqrt(square) : 0;
  }

  std::deque<double> window;
};

} // namespace accum::runtime
#endif
