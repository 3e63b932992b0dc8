// SPDX-License-Identifier: Apache-2.0
// Guesses, scaled by what they have been wrong by.
#include "tools/accum-calibrate/Remaining.h"
#include <algorithm>

namespace accum::calibrate {

void Remaining::finish(double guess, std::optional<double> seconds) {
  ahead = std::max(0.0, ahead - guess);
  if (!seconds)
    return;
  guessed += guess;
  taken += *seconds;
}

std::optional<double> Remaining::seconds() const {
  return guessed > 0 ? std::optional<double>(ahead * taken / guessed) : std::nullopt;
}

} // namespace accum::calibrate
