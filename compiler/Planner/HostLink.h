// SPDX-License-Identifier: Apache-2.0
// Copies of activations over the link between device and host, beside the commands of a micro-step.
#pragma once
#include <span>
#include <vector>

namespace accum::planner {

/// A value's way to the host and back, by places in the order that runs.
struct LinkTrip {
  int made = 0; ///< it goes once this place has run,
  int out = 0;  ///< which waits until it has gone;
  int in = 0;   ///< it comes back once this place has run, and it has gone,
  int read = 0; ///< which waits until it is back
};

/// What the link does to a micro-step.
struct LinkUse {
  double busy = 0;    ///< seconds of all copies
  double waiting = 0; ///< seconds that commands wait for copies
};

/// One copy at a time in each direction, in the order in which they may begin (of equals the first that is
/// waited for).
class LinkSchedule {
public:
  LinkSchedule() = default;
  explicit LinkSchedule(std::span<const LinkTrip> trips);

  /// `begins`: seconds at which each place begins, and the last one ends, if nothing waits. `seconds`: of one
  /// copy of each value.
  LinkUse use(std::span<const double> begins, std::span<const double> seconds) const;

private:
  struct Event {
    int place; ///< before this one a copy begins, or is waited for
    unsigned trip : 30 = 0;
    unsigned begins : 1 = 0; ///< else: is waited for
    unsigned isOut : 1 = 0;
  };
  std::vector<Event> events;
};

} // namespace accum::planner
