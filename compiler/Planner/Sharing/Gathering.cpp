// SPDX-License-Identifier: Apache-2.0
// Spans of use, placed by first fit.
#include "compiler/Planner/Sharing/Gathering.h"
#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace accum::planner {
namespace {

using Uses = std::vector<std::vector<size_t>>;

/// Spans that are alive at once get places beside each other, the longest ones first: what comes and goes has
/// its places behind what stays.
UnitSchedule place(std::vector<UnitSpan> spans, const std::vector<int64_t> &unitBytes) {
  UnitSchedule schedule;
  std::vector<UnitSpan *> order, placed; // placed: by offset
  for (UnitSpan &span : spans)
    order.push_back(&span);
  std::ranges::sort(order, {}, [](const UnitSpan *span) {
    return std::tuple(-static_cast<int64_t>(span->end - span->begin), span->begin, span->unit);
  });
  for (UnitSpan *span : order) {
    span->bytes = unitBytes[span->unit];
    for (const UnitSpan *other : placed) {
      bool meets = other->begin <= span->end && span->begin <= other->end;
      if (meets && span->offset + span->bytes <= other->offset)
        break;
      if (meets)
        span->offset = std::max(span->offset, other->offset + other->bytes);
    }
    schedule.bytes = std::max(schedule.bytes, span->offset + span->bytes);
    placed.insert(std::ranges::upper_bound(placed, span->offset, {}, &UnitSpan::offset), span);
  }
  schedule.spans = std::move(spans);
  return schedule;
}

/// Different units, `unit` left out and those that are there anyway, that are needed between two positions.
size_t othersBetween(const Uses &unitsAt, const std::vector<char> &stays, size_t unit, size_t from,
                     size_t to) {
  std::set<size_t> others;
  for (size_t at = from + 1; at < to && others.size() < 2; ++at)
    for (size_t other : unitsAt[at])
      if (other != unit && (stays.empty() || stays[other] == 0))
        others.insert(other);
  return others.size();
}

/// Units that are gathered for the command that needs them, in its order.
std::vector<UnitSpan> spansOnDemand(const Uses &unitsAt, const std::vector<char> &stays) {
  std::vector<UnitSpan> spans;
  std::map<size_t, size_t> latest; // unit -> its span
  for (size_t position = 0; position < unitsAt.size(); ++position)
    for (size_t unit : unitsAt[position]) {
      auto found = latest.find(unit);
      bool isSmall = !stays.empty() && stays[unit] != 0;
      if (found != latest.end() &&
          (isSmall || othersBetween(unitsAt, stays, unit, spans[found->second].end, position) < 2)) {
        spans[found->second].last = spans[found->second].end = position;
        continue;
      }
      latest[unit] = spans.size();
      spans.push_back({unit, position, position, position, position, position});
    }
  return spans;
}

enum class Ahead : uint8_t { Nothing, Begun, Sent }; ///< what goes on before a unit is needed

/// Each begins where the one before it is needed, or as soon as its own unit was last used. `ahead`: of those
/// that are `offloaded`; others are sent as they begin.
std::vector<UnitSpan> begunAhead(std::vector<UnitSpan> spans, Ahead ahead,
                                 const std::vector<char> &offloaded) {
  if (ahead == Ahead::Nothing)
    return spans;
  std::map<size_t, size_t> free; // unit -> the position from which on it is not used
  // Where the spans at the two positions before this one's are needed, and this one.
  size_t second = 0, before = 0, now = 0;
  for (UnitSpan &span : spans) {
    if (span.first > now)
      second = std::exchange(before, std::exchange(now, span.first));
    auto from = [&](size_t position) { return std::min(span.first, std::max(position, free[span.unit])); };
    span.begin = span.sent = from(before);
    bool isRead = !offloaded.empty() && offloaded[span.unit] != 0;
    if (isRead && ahead == Ahead::Sent)
      span.begin = from(second);
    if (isRead && span.begin == span.sent) // nobody waits for a part to be read
      span.sent = span.first;
    free[span.unit] = span.end + 1;
  }
  return spans;
}

/// The most bytes of spans that are alive at once; no place is smaller.
int64_t mostAlive(const std::vector<UnitSpan> &spans, const std::vector<int64_t> &unitBytes) {
  std::vector<int64_t> more; // at each position than at the one before it
  for (const UnitSpan &span : spans) {
    more.resize(std::max(more.size(), span.end + 2));
    more[span.begin] += unitBytes[span.unit];
    more[span.end + 1] -= unitBytes[span.unit];
  }
  int64_t most = 0, alive = 0;
  for (int64_t each : more)
    most = std::max(most, alive += each);
  return most;
}

/// Units that stay between two spans, as far as there is room: those first that are needed again soonest.
class Kept {
public:
  /// `spans`: on demand.
  Kept(std::vector<UnitSpan> spans, const std::vector<int64_t> &unitBytes, int64_t room, Ahead ahead,
       const std::vector<char> &offloaded)
      : spans(std::move(spans)), unitBytes(unitBytes), room(room), ahead(ahead), offloaded(offloaded),
        joins(this->spans.size()), best(place(arranged(), unitBytes)) {
    std::vector<std::pair<size_t, size_t>> gaps; // length, number of the span behind it
    std::map<size_t, size_t> lasts;
    for (size_t i = 0; i < this->spans.size(); ++i) {
      const UnitSpan &span = this->spans[i];
      if (auto last = lasts.find(span.unit); last != lasts.end())
        gaps.emplace_back(span.first - last->second, i);
      lasts[span.unit] = span.last;
    }
    std::ranges::sort(gaps);
    keep(gaps);
  }

  UnitSchedule take() { return std::move(best); }

private:
  using Gaps = std::span<const std::pair<size_t, size_t>>;

  /// All of them, or each half as far as there is room: of thousands most stay, or none.
  void keep(Gaps gaps) {
    if (gaps.empty() || keepAll(gaps) || gaps.size() == 1)
      return;
    keep(gaps.first(gaps.size() / 2));
    keep(gaps.subspan(gaps.size() / 2));
  }

  bool keepAll(Gaps gaps) {
    for (const auto &[length, span] : gaps)
      joins[span] = 1;
    std::vector<UnitSpan> all = arranged();
    if (mostAlive(all, unitBytes) <= room)
      if (UnitSchedule schedule = place(std::move(all), unitBytes); schedule.bytes <= room) {
        best = std::move(schedule);
        return true;
      }
    for (const auto &[length, span] : gaps)
      joins[span] = 0;
    return false;
  }

  std::vector<UnitSpan> arranged() const {
    std::vector<UnitSpan> joined;
    std::map<size_t, size_t> latest; // unit -> its span
    for (size_t i = 0; i < spans.size(); ++i) {
      if (joins[i] == 0) {
        latest[spans[i].unit] = joined.size();
        joined.push_back(spans[i]);
        continue;
      }
      UnitSpan &from = joined[latest[spans[i].unit]];
      from.last = spans[i].last;
      from.end = spans[i].end;
    }
    return begunAhead(std::move(joined), ahead, offloaded);
  }

  std::vector<UnitSpan> spans;
  const std::vector<int64_t> &unitBytes;
  int64_t room;
  Ahead ahead;
  const std::vector<char> &offloaded;
  std::vector<char> joins; ///< of each span whether its unit stays there from the span before it
  UnitSchedule best;
};

} // namespace

const UnitSpan *UnitSchedule::at(size_t unit, size_t position) const {
  for (const UnitSpan &span : spans)
    if (span.unit == unit && span.first <= position && position <= span.last)
      return &span;
  return nullptr;
}

UnitSchedule gatherUnits(const Uses &unitsAt, const std::vector<int64_t> &unitBytes,
                         const std::vector<char> &stays, int64_t room, const std::vector<char> &offloaded) {
  std::vector<UnitSpan> spans = spansOnDemand(unitsAt, stays);
  room = std::max(room, place(spans, unitBytes).bytes);
  Ahead ahead = !offloaded.empty() ? Ahead::Sent : Ahead::Begun;
  while (ahead != Ahead::Nothing && place(begunAhead(spans, ahead, offloaded), unitBytes).bytes > room)
    ahead = ahead == Ahead::Sent ? Ahead::Begun : Ahead::Nothing;
  return Kept(std::move(spans), unitBytes, room, ahead, offloaded).take();
}

GatherRooms gatherRooms(const Uses &unitsAt, const std::vector<int64_t> &unitBytes,
                        const std::vector<char> &stays, const std::vector<char> &offloaded) {
  std::vector<UnitSpan> spans = spansOnDemand(unitsAt, stays);
  auto with = [&](Ahead ahead) { return place(begunAhead(spans, ahead, offloaded), unitBytes).bytes; };
  return {with(Ahead::Nothing), with(Ahead::Begun), with(Ahead::Sent),
          gatherUnits(unitsAt, unitBytes, stays, kAnyRoom, offloaded).bytes};
}

UnitSchedule scatterUnits(const Uses &unitsAt, const std::vector<int64_t> &unitBytes, int64_t room) {
  std::vector<UnitSpan> spans;
  std::map<size_t, size_t> known;
  for (size_t position = 0; position < unitsAt.size(); ++position)
    for (size_t unit : unitsAt[position]) {
      auto [entry, isNew] = known.try_emplace(unit, spans.size());
      if (isNew)
        spans.push_back({unit, position, position, position, position, position});
      spans[entry->second].last = spans[entry->second].end = position;
    }
  UnitSchedule least = place(spans, unitBytes);
  std::vector<UnitSpan *> order;
  for (UnitSpan &span : spans)
    order.push_back(&span);
  std::ranges::sort(order, {}, [](const UnitSpan *span) { return std::pair(span->last, span->unit); });
  for (size_t i = 0; i < order.size(); ++i)
    order[i]->end = i + 1 < order.size() ? order[i + 1]->last : unitsAt.size() - 1;
  UnitSchedule beside = place(std::move(spans), unitBytes);
  return beside.bytes <= std::max(room, least.bytes) ? beside : least;
}

UnitSchedule updateUnits(const std::vector<int64_t> &unitBytes, int64_t room) {
  Uses uses;
  for (size_t unit = 0; unit < unitBytes.size(); ++unit)
    uses.push_back({unit});
  return gatherUnits(uses, unitBytes, {}, room);
}

GatheredUnits gatheredUnits(const std::vector<int64_t> &unitBytes, const std::vector<char> &isSmall,
                            size_t copied, const GatheredUnits &frozen) {
  GatheredUnits units{unitBytes, isSmall};
  for (size_t unit = 0; unit < copied; ++unit) {
    units.bytes.push_back(unitBytes[unit] / 2);
    units.stays.push_back(isSmall[unit]);
  }
  units.bytes.insert(units.bytes.end(), frozen.bytes.begin(), frozen.bytes.end());
  units.stays.insert(units.stays.end(), frozen.stays.begin(), frozen.stays.end());
  return units;
}

std::vector<char> allButCopies(size_t gathered, size_t units, size_t copied) {
  std::vector<char> all(gathered, 1);
  std::fill_n(all.begin() + static_cast<ptrdiff_t>(units), copied, char(0));
  return all;
}

} // namespace accum::planner
