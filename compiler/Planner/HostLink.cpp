// SPDX-License-Identifier: Apache-2.0
// A walk over the places where copies begin and are waited for, with the ends of both directions' copies.
#include "compiler/Planner/HostLink.h"
#include <algorithm>
#include <tuple>

namespace accum::planner {

LinkSchedule::LinkSchedule(std::span<const LinkTrip> trips) {
  events.reserve(4 * trips.size());
  for (int index = 0; index < static_cast<int>(trips.size()); ++index) {
    const LinkTrip &trip = trips[index];
    for (bool begins : {true, false}) {
      events.push_back({begins ? trip.made + 1 : trip.out, begins, true, trip.out, index});
      events.push_back({begins ? trip.in + 1 : trip.read, begins, false, trip.read, index});
    }
  }
  // What begins behind a place does so when that has ended, before the next one waits.
  std::ranges::sort(events, {}, [](const Event &event) {
    return std::tuple(event.place, !event.begins, !event.isOut, event.before, event.trip);
  });
}

LinkUse LinkSchedule::use(std::span<const double> begins, std::span<const double> seconds) const {
  std::vector<double> outEnds(seconds.size(), 0), inEnds(seconds.size(), 0);
  double outFree = 0, inFree = 0;
  LinkUse use;
  for (const Event &event : events) {
    double now = begins[event.place] + use.waiting;
    double &out = outEnds[event.trip], &in = inEnds[event.trip];
    if (!event.begins)
      use.waiting += std::max(0.0, (event.isOut ? out : in) - now);
    else if (event.isOut)
      out = outFree = std::max(outFree, now) + seconds[event.trip];
    else
      in = inFree = std::max({inFree, now, out}) + seconds[event.trip];
  }
  for (double each : seconds)
    use.busy += 2 * each;
  return use;
}

} // namespace accum::planner
