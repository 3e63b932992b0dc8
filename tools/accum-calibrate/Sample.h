// SPDX-License-Identifier: Apache-2.0
// Repeated timing of one thing.
#pragma once
#include "runtime/system/Clock.h"
#include <functional>
#include <vector>

namespace accum::calibrate {

/// Seconds of one run.
struct Sample {
  double least = 0, median = 0;
  double spread = 0; ///< (upper - lower quartile) / median
  int repeats = 0;
  double reference = 0; ///< of fixed work, timed in turns with it; 0: nobody looked
};

/// Returns seconds that only grow.
using Clock = std::function<double()>;

/// Of at least one time.
Sample summarize(std::vector<double> seconds);

/// Runs `body` once to warm up, then until there are `enough` repeats in `seconds` altogether; at least
/// three. What takes less than 20 microseconds is timed many at once.
Sample sample(const std::function<void()> &body, int enough = 5, double seconds = 0.015,
              const Clock &now = runtime::now);

/// Runs `body` for some milliseconds, at least once, in turns with `reference`, which returns the seconds of
/// fixed work: an odd number of `turns`, of what takes long no more than three. What a run took is divided by
/// what the reference took right before and after it, so that a machine that is slower for a while is so for
/// both; the seconds of the sample are those of the median speed among its turns, its `reference`.
Sample sampleBeside(const std::function<void()> &body, const std::function<double()> &reference,
                    int turns = 5, const Clock &now = runtime::now);

/// That sample on a machine where the reference takes so many seconds; itself, where nobody looked.
Sample atSpeed(Sample sample, double reference);

} // namespace accum::calibrate
