// SPDX-License-Identifier: Apache-2.0
// The time by which a search must stop.
#pragma once
#include <chrono>
#include <optional>

namespace accum::planner {

/// Never, or a moment of the steady clock. What a search finds depends on the clock only where one passes.
class Deadline {
public:
  Deadline() = default;
  static Deadline in(double seconds) {
    Deadline deadline;
    deadline.end = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    return deadline;
  }
  bool hasPassed() const { return end && Clock::now() >= *end; }

private:
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> end = {};
};

} // namespace accum::planner
