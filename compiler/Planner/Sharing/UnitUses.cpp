// SPDX-License-Identifier: Apache-2.0
// Which commands of a problem use which units.
#include "compiler/Planner/Sharing/Gathering.h"
#include "compiler/Planner/Sharing/Units.h"
#include <algorithm>
#include <map>
#include <set>

namespace accum::planner {
namespace {

using Uses = std::vector<std::vector<size_t>>;

/// Commands of a phase as positions; those that run in slices, or may, are one, and so is a tail with its
/// command.
class Positions {
public:
  Positions(const Problem &runs, int phase, const std::set<int> &leftOut) {
    bool inSlices = false;
    for (const Command &command : runs.commands) {
      if (command.phase != phase || leftOut.contains(static_cast<int>(&command - runs.commands.data())))
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
  bool isKnown = std::ranges::any_of(runs.parameters, [](const Parameter &parameter) {
    return !parameter.readers.empty() || !parameter.copyReaders.empty() || !parameter.adders.empty();
  });
  if (!isKnown)
    return std::nullopt;
  UnitUsers users{unitsOf(runs.parameters, cutParameters, devices), {}, {}, {}};
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
      const Parameter &parameter = runs.parameters[*member];
      add(users.readers[unit], parameter.readers);
      add(users.adders[unit], parameter.adders);
      if (unit < layout.copied)
        add(users.readers[units + unit], parameter.copyReaders);
    }
  auto unread = frozen.order.begin();
  for (size_t unit = 0; unit < frozen.counts.size(); ++unit)
    for (auto end = unread + frozen.counts[unit]; unread != end; ++unread)
      add(users.readers[others + unit], runs.frozen[*unread].readers);
  users.gathered = gatheredUnits(layout.bytes, layout.isSmall, layout.copied, {frozen.bytes, frozen.isSmall});
  return users;
}

/// What parts are read of before they are sent.
static std::vector<char> readUnits(const UnitUsers &users, bool areOffloaded) {
  return areOffloaded
             ? allButCopies(users.gathered.bytes.size(), users.layout.counts.size(), users.layout.copied)
             : std::vector<char>();
}

/// Bytes of a place in which units are whole to be updated; 0 where they are not.
static int64_t leastForUpdate(const Problem &runs, const UnitLayout &layout) {
  return runs.wholeUpdate != 0 ? updateUnits(layout.bytes, 0).bytes : 0;
}

std::optional<UnitRooms> unitRooms(const Problem &runs, const UnitUse &use) {
  auto users = unitUsers(runs, use.cutParameters, use.devices);
  if (!users)
    return std::nullopt;
  Positions micro(runs, runs.mainPhase(), {});
  const GatheredUnits &gathered = users->gathered;
  std::vector<char> read = readUnits(*users, use.isOffloaded && use.cutParameters);
  UnitRooms rooms;
  for (size_t phase = 0; phase < runs.phases.size(); ++phase) {
    PhaseKind kind = runs.phases[phase].kind;
    if (kind == PhaseKind::Update)
      continue;
    bool copies = kind == PhaseKind::Once && use.cutParameters;
    Positions positions(runs, static_cast<int>(phase), copies ? copyingCommands(runs) : std::set<int>());
    GatherRooms each = gatherRooms(positions.uses(users->readers), gathered.bytes, gathered.stays, read);
    rooms.onDemand = rooms.onDemand.atLeast({each.onDemand});
    rooms.next = rooms.next.atLeast({each.next});
    rooms.nextTwo = rooms.nextTwo.atLeast({each.nextTwo});
    rooms.kept = rooms.kept.atLeast({each.kept});
  }
  Uses adds = micro.uses(users->adders);
  rooms.onDemand.scattered = scatterUnits(adds, users->layout.bytes).bytes;
  int64_t overlapped = scatterUnits(adds, users->layout.bytes, kAnyRoom).bytes;
  int64_t least = leastForUpdate(runs, users->layout);
  int64_t ahead = least > 0 ? updateUnits(users->layout.bytes, kAnyRoom).bytes : 0;
  rooms.onDemand = rooms.onDemand.atLeast({least, least});
  for (UnitRoom *room : {&rooms.next, &rooms.nextTwo, &rooms.kept})
    *room = room->atLeast({ahead, std::max(overlapped, ahead)});
  return rooms;
}

std::optional<UnitTimeline> unitTimeline(const Problem &runs, const UnitUse &use, const UnitRoom &room) {
  auto users = unitUsers(runs, use.cutParameters, use.devices);
  if (!users)
    return std::nullopt;
  Positions micro(runs, runs.mainPhase(), {});
  const GatheredUnits &gathered = users->gathered;
  UnitTimeline timeline{users->layout.counts.size(), {}, {}, micro.commandsAt, users->layout.copied};
  int64_t least = leastForUpdate(runs, users->layout);
  UnitRoom all = room.atLeast({std::max(least, runs.gatheredElsewhere), least});
  timeline.gathers = gatherUnits(micro.uses(users->readers), gathered.bytes, gathered.stays, all.gathered,
                                 readUnits(*users, use.isOffloaded && use.cutParameters));
  timeline.scatters = scatterUnits(micro.uses(users->adders), users->layout.bytes, all.scattered);
  return timeline;
}

bool UnitTimeline::isReadAhead() const {
  return std::ranges::any_of(gathers.spans, [](const UnitSpan &span) { return span.begin < span.first; });
}

bool UnitTimeline::isGatheredAhead() const {
  return std::ranges::any_of(gathers.spans, [](const UnitSpan &span) { return span.sent < span.first; });
}

} // namespace accum::planner
