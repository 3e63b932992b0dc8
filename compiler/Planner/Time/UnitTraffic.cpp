// SPDX-License-Identifier: Apache-2.0
// A clock, and when each link is free again.
#include "compiler/Planner/Time/UnitTraffic.h"
#include <algorithm>
#include <map>

namespace accum::planner {
namespace {

class Clock {
public:
  Clock(const UnitTimeline &timeline, const UnitRates &rates, size_t positions);

  void before(size_t position);
  void run(double seconds) { now += seconds; }
  void behind(size_t position);
  UnitTraffic traffic;

private:
  using Ends = std::map<const UnitSpan *, double>;
  /// Spans that are needed, sent and read from a position on; that end and that have their last term behind
  /// it.
  struct Moment {
    std::vector<const UnitSpan *> needed, sent, read, ended, final;
  };
  double &begin(const UnitSpan &span, double seconds, double &link, Traffic &of, Ends &ends);
  void wait(double until, Traffic &of);
  void read(const UnitSpan &span);
  void pass(const UnitSpan &span, Traffic &of, Ends &ends);
  bool isFetched(const UnitSpan &span) const {
    bool isCopy = span.unit >= timeline.units && span.unit < timeline.units + timeline.copied;
    return rates.fetch && !isCopy;
  }

  const UnitTimeline &timeline;
  const UnitRates &rates;
  std::vector<Moment> moments;
  double now = 0, ring = 0, disk = 0; ///< when each is free again
  Ends gathered, scattered, fetched;  ///< what is under way
};

Clock::Clock(const UnitTimeline &timeline, const UnitRates &rates, size_t positions)
    : timeline(timeline), rates(rates), moments(positions) {
  for (const UnitSpan &span : timeline.gathers.spans) {
    moments[span.first].needed.push_back(&span);
    if (rates.gathers && span.sent < span.first)
      moments[span.sent].sent.push_back(&span);
    if (isFetched(span) && span.begin < (rates.gathers ? span.sent : span.first))
      moments[span.begin].read.push_back(&span);
  }
  for (const UnitSpan &span : timeline.scatters.spans) {
    moments[span.last].final.push_back(&span);
    if (span.last < span.end)
      moments[span.end].ended.push_back(&span);
  }
}

double &Clock::begin(const UnitSpan &span, double seconds, double &link, Traffic &of, Ends &ends) {
  of.seconds += seconds;
  link = std::max(link, now) + seconds;
  return ends[&span] = link;
}

void Clock::wait(double until, Traffic &of) {
  of.exposed += std::max(0.0, until - now);
  now = std::max(now, until);
}

/// Begins where that has not been done, and ends.
void Clock::pass(const UnitSpan &span, Traffic &of, Ends &ends) {
  auto begun = ends.find(&span);
  wait(begun != ends.end() ? begun->second : begin(span, rates.pass(span.bytes), ring, of, ends), of);
  ends.erase(&span);
}

/// The device has its part of a unit, where that is offloaded.
void Clock::read(const UnitSpan &span) {
  if (!isFetched(span))
    return;
  auto begun = fetched.find(&span);
  wait(begun != fetched.end() ? begun->second
                              : begin(span, rates.fetch(span.bytes), disk, traffic.fetching, fetched),
       traffic.fetching);
}

void Clock::before(size_t position) {
  for (const UnitSpan *span : moments[position].needed) {
    if (!gathered.contains(span))
      read(*span);
    if (rates.gathers)
      pass(*span, traffic.gathering, gathered);
  }
  for (const UnitSpan *span : moments[position].sent) {
    read(*span);
    begin(*span, rates.pass(span->bytes), ring, traffic.gathering, gathered);
  }
  for (const UnitSpan *span : moments[position].read)
    begin(*span, rates.fetch(span->bytes), disk, traffic.fetching, fetched);
}

void Clock::behind(size_t position) {
  if (!rates.scatters)
    return;
  for (const UnitSpan *span : moments[position].ended)
    pass(*span, traffic.scattering, scattered);
  for (const UnitSpan *span : moments[position].final)
    if (span->end == position)
      pass(*span, traffic.scattering, scattered);
    else
      begin(*span, rates.pass(span->bytes), ring, traffic.scattering, scattered);
}

} // namespace

UnitTraffic unitTraffic(const UnitTimeline &timeline, const std::vector<double> &seconds,
                        const UnitRates &rates) {
  Clock clock(timeline, rates, seconds.size());
  for (size_t position = 0; position < seconds.size(); ++position) {
    clock.before(position);
    clock.run(seconds[position]);
    clock.behind(position);
  }
  return clock.traffic;
}

} // namespace accum::planner
