// SPDX-License-Identifier: Apache-2.0
// A counting sort of where copies begin and are waited for, and walks over these places with the ends of both
// directions' copies.
#include "compiler/Planner/HostLink.h"
#include <algorithm>

namespace accum::planner {

namespace {

/// What begins behind a place does so when that has ended, before the next one waits; what goes before what
/// comes back.
int rankAt(bool begins, bool isOut) { return (begins ? 0 : 2) + (isOut ? 0 : 1); }
constexpr int kRanks = 4;

} // namespace

LinkSchedule::LinkSchedule(std::span<const LinkTrip> trips) {
  auto forEvents = [&](auto &&visit) {
    for (size_t index = 0; index < trips.size(); ++index) {
      const LinkTrip &trip = trips[index];
      for (bool begins : {true, false}) {
        visit(Event{begins ? trip.made + 1 : trip.out, static_cast<unsigned>(index), begins, true});
        visit(Event{begins ? trip.in + 1 : trip.read, static_cast<unsigned>(index), begins, false});
      }
    }
  };
  int last = 0;
  forEvents([&](const Event &event) { last = std::max(last, event.place); });
  std::vector<int> next(static_cast<size_t>(last + 1) * kRanks + 1, 0); // per place and rank
  auto slotOf = [&](const Event &event) {
    return static_cast<size_t>(event.place) * kRanks + static_cast<size_t>(rankAt(event.begins, event.isOut));
  };
  forEvents([&](const Event &event) { ++next[slotOf(event) + 1]; });
  for (size_t slot = 1; slot < next.size(); ++slot)
    next[slot] += next[slot - 1];
  // Of those of one place and rank, what is waited for first comes first: of equals the first trip.
  auto waits = [&](const Event &event) {
    return event.isOut ? trips[event.trip].out : trips[event.trip].read;
  };
  events.resize(4 * trips.size());
  std::vector<int> begin(next);
  forEvents([&](const Event &event) {
    size_t slot = slotOf(event);
    int at = next[slot]++;
    for (; at > begin[slot] && waits(events[at - 1]) > waits(event); --at)
      events[at] = events[at - 1];
    events[at] = event;
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
