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

UnitSchedule gatherUnits(const Uses &unitsAt, const std::vector<int64_t> &unitBytes,
                         const std::vector<char> &stays) {
  std::vector<UnitSpan> spans;
  std::map<size_t, size_t> latest; // unit -> its span
  for (size_t position = 0; position < unitsAt.size(); ++position)
    for (size_t unit : unitsAt[position]) {
      auto found = latest.find(unit);
      bool isSmall = !stays.empty() && stays[unit] != 0;
      if (found != latest.end() &&
          (isSmall || othersBetween(unitsAt, stays, unit, spans[found->second].end, position) < 2)) {
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

std::optional<UnitPlaces> unitPlaces(const Problem &runs, bool cutParameters, int64_t devices) {
  bool isKnown = std::ranges::any_of(runs.gradients, [](const Gradient &gradient) {
    return !gradient.readers.empty() || !gradient.copyReaders.empty() || !gradient.adders.empty();
  });
  if (!isKnown)
    return std::nullopt;
  UnitLayout layout = unitsOf(runs.gradients, cutParameters, devices);
  UnitLayout frozen;
  if (cutParameters)
    frozen = unitsOf(runs.frozen, cutParameters, devices);
  size_t units = layout.counts.size(), others = units + layout.copied;
  std::vector<std::vector<int64_t>> readers(others + frozen.counts.size()), adders(units);
  auto add = [](std::vector<int64_t> &to, const std::vector<int64_t> &more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  auto member = layout.order.begin();
  for (size_t unit = 0; unit < units; ++unit)
    for (auto end = member + layout.counts[unit]; member != end; ++member) {
      const Gradient &gradient = runs.gradients[*member];
      add(readers[unit], gradient.readers);
      add(adders[unit], gradient.adders);
      if (unit < layout.copied)
        add(readers[units + unit], gradient.copyReaders);
    }
  auto unread = frozen.order.begin();
  for (size_t unit = 0; unit < frozen.counts.size(); ++unit)
    for (auto end = unread + frozen.counts[unit]; unread != end; ++unread)
      add(readers[others + unit], runs.frozen[*unread].readers);
  Positions prologue(runs, Region::Prologue, cutParameters ? copyingCommands(runs) : std::set<int>());
  Positions micro(runs, Region::Micro, {});
  GatheredUnits gathered =
      gatheredUnits(layout.bytes, layout.isSmall, layout.copied, {frozen.bytes, frozen.isSmall});
  auto gather = [&](const Positions &positions) {
    return gatherUnits(positions.uses(readers), gathered.bytes, gathered.stays).bytes;
  };
  return UnitPlaces{std::max(gather(prologue), gather(micro)),
                    scatterUnits(micro.uses(adders), layout.bytes).bytes};
}

} // namespace accum::planner
