// SPDX-License-Identifier: Apache-2.0
// When units of a sharded state are resident as a whole: parameters from their all-gather to their last use,
// gradients from their first term to their reduce-scatter.
#pragma once
#include "compiler/Planner/Problem/Plan.h"
#include "compiler/Planner/Problem/Problem.h"
#include <optional>

namespace accum::planner {

/// A unit that is resident, at `offset` bytes of the memory for units. Positions are those of commands.
/// The memory is taken before `begin` and free after `end`. Commands from `first` to `last` use the unit.
/// A unit of parameters: before `begin` a device starts to read its part, if that is offloaded. Before `sent`
/// the all-gather starts. Before `first` both have ended. A unit of gradients: after `last` the
/// reduce-scatter starts, and after `end` it has ended.
struct UnitSpan {
  size_t unit = 0, begin = 0, sent = 0, first = 0, last = 0, end = 0;
  int64_t offset = 0, bytes = 0;
};

struct UnitSchedule {
  std::vector<UnitSpan> spans; ///< by `first`
  int64_t bytes = 0;           ///< of the memory for units

  /// The span in which a command at this position uses the unit; null where none does.
  const UnitSpan *at(size_t unit, size_t position) const;
};

/// When to gather units. `unitsAt[i]` are the units that the i-th command reads.
///
/// A unit stays resident if at most one other unit is used before its next use. Otherwise its memory is freed
/// and it is re-gathered. Units that `stays` marks, which are small, stay from their first use to their last.
/// This takes the least memory, and is what happens with `room` 0.
///
/// With more `room` units are prefetched: the all-gather of a unit starts when the unit before it is first
/// used. The remaining room keeps units that would be re-gathered, those with the nearest next use first.
///
/// `offloaded` marks units of which a device first reads its part from where that is offloaded. With room for
/// one more unit the part is read while the unit before is used. With room for two more it is read one unit
/// earlier, and the all-gather runs while the unit before is used.
UnitSchedule gatherUnits(const std::vector<std::vector<size_t>> &unitsAt,
                         const std::vector<int64_t> &unitBytes, const std::vector<char> &stays = {},
                         int64_t room = 0, const std::vector<char> &offloaded = {});

/// Bytes of room for each of these: no prefetch, one unit more, two units more, and enough that no unit is
/// re-gathered.
struct GatherRooms {
  int64_t onDemand = 0, next = 0, nextTwo = 0, kept = 0;
};
GatherRooms gatherRooms(const std::vector<std::vector<size_t>> &unitsAt,
                        const std::vector<int64_t> &unitBytes, const std::vector<char> &stays,
                        const std::vector<char> &offloaded);

/// When to scatter units of gradients. `unitsAt[i]` are the units that the i-th command adds to. Each is
/// resident from its first to its last term. If `room` is enough, its reduce-scatter then runs alongside the
/// commands, until the next unit has its last term.
UnitSchedule scatterUnits(const std::vector<std::vector<size_t>> &unitsAt,
                          const std::vector<int64_t> &unitBytes, int64_t room = 0);

/// Room that is always enough for transfers to run alongside the commands.
inline constexpr int64_t kAnyRoom = INT64_MAX;

/// Units that are gathered one after the other, each while its tensors are updated. If `room` is enough, the
/// next one is prefetched. One span for each unit.
UnitSchedule updateUnits(const std::vector<int64_t> &unitBytes, int64_t room);

/// What may be gathered, by number: all units, then the copies of the first ones, then the units of frozen
/// parameters. Bytes of each, and whether it stays resident from its first use to its last.
struct GatheredUnits {
  std::vector<int64_t> bytes;
  std::vector<char> stays;
};
GatheredUnits gatheredUnits(const std::vector<int64_t> &unitBytes, const std::vector<char> &isSmall,
                            size_t copied, const GatheredUnits &frozen = {});
/// Marks all of what may be gathered but the copies.
std::vector<char> allButCopies(size_t gathered, size_t units, size_t copied);

/// How devices hold units.
struct UnitUse {
  bool cutParameters = false; ///< each has its part of the parameters only, as in `unitsOf`
  int64_t devices = 1;
  bool isOffloaded = false; ///< parameters, or a device's parts of them, are in memory of the host
  bool operator==(const UnitUse &) const = default;
};

/// Memory for units that a problem as it runs uses, the least first. From `next` on transfers run alongside
/// the commands.
struct UnitRooms {
  UnitRoom onDemand; ///< a unit is gathered right before the command that needs it
  UnitRoom next;     ///< the next unit is gathered, or read from the host, while one is used
  UnitRoom nextTwo;  ///< the second next unit is read from the host while the next one is gathered
  UnitRoom kept;     ///< and no unit is gathered twice
};
/// Nothing where the problem does not say which commands read parameters and add to gradients.
std::optional<UnitRooms> unitRooms(const Problem &runs, const UnitUse &use);

/// When units of a problem as it runs are in memory, in a micro-step.
struct UnitTimeline {
  size_t units = 0; ///< of trained parameters; higher numbers are copies, then frozen units
  UnitSchedule gathers, scatters;
  std::vector<std::vector<size_t>> commandsAt; ///< by position: indices of the problem's commands
  size_t copied = 0;                           ///< number of copies

  bool isReadAhead() const;     ///< some transfer of a unit starts before the command that uses it
  bool isGatheredAhead() const; ///< some all-gather does
};
/// With `room`, or as little as the problem takes. Nothing where it does not say which commands use units.
std::optional<UnitTimeline> unitTimeline(const Problem &runs, const UnitUse &use, const UnitRoom &room);

} // namespace accum::planner
