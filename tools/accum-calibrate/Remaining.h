// SPDX-License-Identifier: Apache-2.0
// How long a calibration still takes.
#pragma once
#include <optional>

namespace accum::calibrate {

/// What is left of work whose parts take about as long as guessed, in the seconds that the parts done took.
class Remaining {
public:
  void expect(double guess) { ahead += guess; }
  /// A part is over; `seconds`: what it took, none where its figure was there already.
  void finish(double guess, std::optional<double> seconds);
  std::optional<double> seconds() const;

private:
  double ahead = 0, guessed = 0, taken = 0;
};

} // namespace accum::calibrate
