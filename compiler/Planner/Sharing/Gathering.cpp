// SPDX-License-Identifier: Apache-2.0
// Spans of use, placed by first fit.
#include "compiler/Planner/Sharing/Gathering.h"
#include "compiler/Planner/Sharing/Units.h"
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
      spans.push_back({unit, position, position, position, position});
    }
  return spans;
}

/// Each begins where the one before it is needed, or as soon as its own unit was last used.
std::vector<UnitSpan> begunAhead(std::vector<UnitSpan> spans) {
  std::map<size_t, size_t> free; // unit -> the position from which on it is not used
  size_t before = 0, now = 0;    // where the spans before this one's position, and those there, are needed
  for (UnitSpan &span : spans) {
    if (span.first > now)
      before = std::exchange(now, span.first);
    span.begin = std::min(span.first, std::max(before, free[span.unit]));
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
  Kept(std::vector<UnitSpan> spans, const std::vector<int64_t> &unitBytes, int64_t room, bool isAhead)
      : spans(std::move(spans)), unitBytes(unitBytes), room(room), isAhead(isAhead),
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
    return isAhead ? begunAhead(std::move(joined)) : joined;
  }

  std::vector<UnitSpan> spans;
  const std::vector<int64_t> &unitBytes;
  int64_t room;
  bool isAhead;
  std::vector<char> joins; ///< of each span whether its unit stays there from the span before it
  UnitSchedule best;
};

/// Commands of a region as positions; those that run in slices, or may, are one, and so is a tail with its
/// command.
class Positions {
public:
  Positions(const Problem &runs, Region region, const std::set<int> &leftOut) {
    bool inSlices = false;
    for (const Command &command : runs.commands) {
      if (command.region != region || leftOut.contains(static_cast<int>(&command - runs.commands.data())))
        continue;
      bool isSliced =
          std::ranges::any_of(command.variants, [](const Variant &each) { return each.slice > 0; });
      if (!(command.tail || (isSliced && inSlices)) || count == 0)
        ++count;
      inSlices = isSliced;
      int64_t id = command.cloneOf >= 0 ? command.cloneOf : command.id;
      of[id].push_back(count - 1);
      commandsAt.resize(count);
      commandsAt.back().push_back(static_cast<size_t>(&command - runs.commands.data()));
    }
  }

  /// What each position needs, from the commands of each unit.
  Uses uses(const std::vector<std::vector<int64_t>> &commandsOfUnit) const {
    Uses unitsAt(count);
    for (size_t unit = 0; unit < commandsOfUnit.size(); ++unit)
      for (int64_t command : commandsOfUnit[unit])
        if (auto found = of.find(command); found != of.end())
          for (size_t at : found->second)
            if (unitsAt[at].empty() || unitsAt[at].back() != unit)
              unitsAt[at].push_back(unit);
    return unitsAt;
  }

  std::vector<std::vector<size_t>> commandsAt;

private:
  size_t count = 0;
  std::map<int64_t, std::vector<size_t>> of;
};

} // namespace

const UnitSpan *UnitSchedule::at(size_t unit, size_t position) const {
  for (const UnitSpan &span : spans)
    if (span.unit == unit && span.first <= position && position <= span.last)
      return &span;
  return nullptr;
}

UnitSchedule gatherUnits(const Uses &unitsAt, const std::vector<int64_t> &unitBytes,
                         const std::vector<char> &stays, int64_t room) {
  std::vector<UnitSpan> spans = spansOnDemand(unitsAt, stays);
  room = std::max(room, place(spans, unitBytes).bytes);
  bool isAhead = place(begunAhead(spans), unitBytes).bytes <= room;
  return Kept(std::move(spans), unitBytes, room, isAhead).take();
}

UnitSchedule scatterUnits(const Uses &unitsAt, const std::vector<int64_t> &unitBytes, int64_t room) {
  std::vector<UnitSpan> spans;
  std::map<size_t, size_t> known;
  for (size_t position = 0; position < unitsAt.size(); ++position)
    for (size_t unit : unitsAt[position]) {
      auto [entry, isNew] = known.try_emplace(unit, spans.size());
      if (isNew)
        spans.push_back({unit, position, position, position, position});
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

/// Commands that copy parameters: programs copy whole parts in their place.
static std::set<int> copyingCommands(const Problem &runs) {
  std::set<int> commands;
  for (const Buffer &buffer : runs.buffers)
    if (buffer.role == StateRole::Parameters)
      commands.insert(buffer.producer);
  return commands;
}

namespace {

/// Who reads and who adds to each unit; nothing where the problem does not say.
struct UnitUsers {
  UnitLayout layout;
  GatheredUnits gathered;
  /// Ids; copies, then frozen units, are read behind the others.
  std::vector<std::vector<int64_t>> readers, adders;
};

} // namespace

static std::optional<UnitUsers> unitUsers(const Problem &runs, bool cutParameters, int64_t devices) {
  bool isKnown = std::ranges::any_of(runs.gradients, [](const Gradient &gradient) {
    return !gradient.readers.empty() || !gradient.copyReaders.empty() || !gradient.adders.empty();
  });
  if (!isKnown)
    return std::nullopt;
  UnitUsers users{unitsOf(runs.gradients, cutParameters, devices), {}, {}, {}};
  const UnitLayout &layout = users.layout;
  UnitLayout frozen = unitsOf(runs.frozen, /*cutParameters=*/true, devices);
  size_t units = layout.counts.size(), others = units + layout.copied;
  users.readers.resize(others + frozen.counts.size());
  users.adders.resize(units);
  auto add = [](std::vector<int64_t> &to, const std::vector<int64_t> &more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  auto member = layout.order.begin();
  for (size_t unit = 0; unit < units; ++unit)
    for (auto end = member + layout.counts[unit]; member != end; ++member) {
      const Gradient &gradient = runs.gradients[*member];
      add(users.readers[unit], gradient.readers);
      add(users.adders[unit], gradient.adders);
      if (unit < layout.copied)
        add(users.readers[units + unit], gradient.copyReaders);
    }
  auto unread = frozen.order.begin();
  for (size_t unit = 0; unit < frozen.counts.size(); ++unit)
    for (auto end = unread + frozen.counts[unit]; unread != end; ++unread)
      add(users.readers[others + unit], runs.frozen[*unread].readers);
  users.gathered = gatheredUnits(layout.bytes, layout.isSmall, layout.copied, {frozen.bytes, frozen.isSmall});
  return users;
}

/// Bytes of a place in which units are whole to be updated; 0 where they are not.
static int64_t leastForUpdate(const Problem &runs, const UnitLayout &layout) {
  return runs.wholeUpdate != 0 ? updateUnits(layout.bytes, 0).bytes : 0;
}

std::optional<UnitPlaces> unitPlaces(const Problem &runs, bool cutParameters, int64_t devices) {
  auto users = unitUsers(runs, cutParameters, devices);
  if (!users)
    return std::nullopt;
  Positions prologue(runs, Region::Prologue, cutParameters ? copyingCommands(runs) : std::set<int>());
  Positions micro(runs, Region::Micro, {});
  const GatheredUnits &gathered = users->gathered;
  UnitPlaces places;
  for (const Positions *positions : {&prologue, &micro}) {
    Uses uses = positions->uses(users->readers);
    std::vector<UnitSpan> spans = spansOnDemand(uses, gathered.stays);
    places.gathered = std::max(places.gathered, place(spans, gathered.bytes).bytes);
    places.ahead = std::max(places.ahead, place(begunAhead(spans), gathered.bytes).bytes);
    places.kept = std::max(places.kept, gatherUnits(uses, gathered.bytes, gathered.stays, kAnyRoom).bytes);
  }
  Uses adds = micro.uses(users->adders);
  places.scattered = scatterUnits(adds, users->layout.bytes).bytes;
  places.beside = scatterUnits(adds, users->layout.bytes, kAnyRoom).bytes;
  int64_t least = leastForUpdate(runs, users->layout);
  int64_t ahead = least > 0 ? updateUnits(users->layout.bytes, kAnyRoom).bytes : 0;
  for (int64_t *place : {&places.gathered, &places.scattered})
    *place = std::max(*place, least);
  for (int64_t *place : {&places.ahead, &places.kept, &places.beside})
    *place = std::max(*place, ahead);
  return places;
}

std::optional<UnitTimeline> unitTimeline(const Problem &runs, bool cutParameters, int64_t devices) {
  auto users = unitUsers(runs, cutParameters, devices);
  if (!users)
    return std::nullopt;
  Positions micro(runs, Region::Micro, {});
  const GatheredUnits &gathered = users->gathered;
  UnitTimeline timeline{users->layout.counts.size(), {}, {}, micro.commandsAt, users->layout.copied};
  int64_t room = leastForUpdate(runs, users->layout);
  timeline.gathers =
      gatherUnits(micro.uses(users->readers), gathered.bytes, gathered.stays, std::max(room, runs.gathered));
  timeline.scatters =
      scatterUnits(micro.uses(users->adders), users->layout.bytes, std::max(room, runs.scattered));
  return timeline;
}

bool UnitTimeline::isAhead() const {
  return std::ranges::any_of(gathers.spans, [](const UnitSpan &span) { return span.begin < span.first; });
}

} // namespace accum::planner
