// SPDX-License-Identifier: Apache-2.0
// Repeated timing of one thing.
#pragma once
#include <functional>
#include <vector>

namespace accum::calibrate {

/// Seconds of one run.
struct Sample {
  double least = 0, median = 0;
  double spread = 0; ///< (upper - lower quartile) / median
  int repeats = 0;
};

/// Of at least one time.
Sample summarize(std::vector<double> seconds);

/// Runs `body` once to warm up, then until there are `enough` repeats in `seconds` altogether; at least
/// three. What takes less than 20 microseconds is timed many at once.
Sample sample(const std::function<void()> &body, int enough = 5, double seconds = 0.015);

} // namespace accum::calibrate
