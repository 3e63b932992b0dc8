// SPDX-License-Identifier: Apache-2.0
// Spans of use, placed by first fit.
#include "compiler/Planner/Sharing/Gathering.h"
#include "compiler/Planner/Sharing/Units.h"
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

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

/// Different units, `unit` left out, that are needed between two positions.
size_t othersBetween(const Uses &unitsAt, size_t unit, size_t from, size_t to) {
  std::set<size_t> others;
  for (size_t at = from + 1; at < to && others.size() < 2; ++at)
    for (size_t other : unitsAt[at])
      if (other != unit)
        others.insert(other);
  return others.size();
}

/// Commands of a region as positions; those that run in slices, or may, are one, and so is a tail with its
/// command.
class Positions {
public:
  Positions(const Problem &runs, Region region) {
    bool inSlices = false;
    for (const Command &command : runs.commands) {
      if (command.region != region)
        continue;
      bool isSliced =
          std::ranges::any_of(command.variants, [](const Variant &each) { return each.slice > 0; });
      if (!(command.tail || (isSliced && inSlices)) || count == 0)
        ++count;
      inSlices = isSliced;
      int64_t id = command.cloneOf >= 0 ? command.cloneOf : command.id;
      of[id].push_back(count - 1);
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

private:
  size_t count = 0;
  std::map<int64_t, std::vector<size_t>> of;
};

} // namespace

const UnitSpan *UnitSchedule::at(size_t unit, size_t position) const {
  for (const UnitSpan &span : spans)
    if (span.unit == unit && span.begin <= position && position <= span.end)
      return &span;
  return nullptr;
}

UnitSchedule gatherUnits(const Uses &unitsAt, const std::vector<int64_t> &unitBytes) {
  std::vector<UnitSpan> spans;
  std::map<size_t, size_t> latest; // unit -> its span
  for (size_t position = 0; position < unitsAt.size(); ++position)
    for (size_t unit : unitsAt[position]) {
      auto found = latest.find(unit);
      if (found != latest.end() && othersBetween(unitsAt, unit, spans[found->second].end, position) < 2) {
        spans[found->second].end = position;
        continue;
      }
      latest[unit] = spans.size();
      spans.push_back({unit, position, position});
    }
  return place(std::move(spans), unitBytes);
}

UnitSchedule scatterUnits(const Uses &unitsAt, const std::vector<int64_t> &unitBytes) {
  std::vector<UnitSpan> spans;
  std::map<size_t, size_t> known;
  for (size_t position = 0; position < unitsAt.size(); ++position)
    for (size_t unit : unitsAt[position]) {
      auto [entry, isNew] = known.try_emplace(unit, spans.size());
      if (isNew)
        spans.push_back({unit, position, position});
      spans[entry->second].end = position;
    }
  return place(std::move(spans), unitBytes);
}

std::optional<UnitPlaces> unitPlaces(const Problem &runs, int64_t devices) {
  std::vector<int64_t> bytes;
  bool isKnown = false;
  for (const Gradient &gradient : runs.gradients) {
    bytes.push_back(gradient.bytes);
    isKnown |= !gradient.readers.empty() || !gradient.adders.empty();
  }
  if (!isKnown)
    return std::nullopt;
  std::vector<int64_t> counts = shardUnits(bytes), sizes;
  std::vector<std::vector<int64_t>> readers(counts.size()), adders(counts.size());
  size_t at = 0;
  for (size_t unit = 0; unit < counts.size(); ++unit) {
    std::vector<int64_t> own(bytes.begin() + ptrdiff_t(at), bytes.begin() + ptrdiff_t(at) + counts[unit]);
    sizes.push_back(unitBytes(own, {counts[unit]}, devices));
    for (size_t end = at + size_t(counts[unit]); at < end; ++at) {
      const Gradient &gradient = runs.gradients[at];
      readers[unit].insert(readers[unit].end(), gradient.readers.begin(), gradient.readers.end());
      adders[unit].insert(adders[unit].end(), gradient.adders.begin(), gradient.adders.end());
    }
  }
  Positions prologue(runs, Region::Prologue), micro(runs, Region::Micro);
  return UnitPlaces{std::max(gatherUnits(prologue.uses(readers), sizes).bytes,
                             gatherUnits(micro.uses(readers), sizes).bytes),
                    scatterUnits(micro.uses(adders), sizes).bytes};
}

} // namespace accum::planner
