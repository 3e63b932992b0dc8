// SPDX-License-Identifier: Apache-2.0
// When units of a sharded state are whole on a device: parameters between being gathered and their last use,
// gradients between their first term and being scattered.
#pragma once
#include "compiler/Planner/Problem/Problem.h"
#include <optional>

namespace accum::planner {

/// A unit in memory, at `offset` bytes of the place for such units: from the position before which its room
/// is taken to the one behind which that is free again. Commands at `first` to `last` use it. A gathering
/// begins before `sent`, or before `begin` where an offloaded part is read for it, and ends before `first`. A
/// scattering begins behind `last` and ends behind `end`.
struct UnitSpan {
  size_t unit = 0, begin = 0, sent = 0, first = 0, last = 0, end = 0;
  int64_t offset = 0, bytes = 0;
};

struct UnitSchedule {
  std::vector<UnitSpan> spans; ///< by `first`
  int64_t bytes = 0;           ///< of the place

  /// The span in which a unit is used at a position; null where there is none.
  const UnitSpan *at(size_t unit, size_t position) const;
};

/// `unitsAt[i]`: units that the i-th command needs. A unit stays where at most one other is needed before it
/// is needed again, else it goes and is gathered again. `stays`: those that stay anyway, being small.
/// What that takes is the least room. Where `room` is enough, each unit's gathering begins as soon as the one
/// before it is needed; and what room is left keeps units that would be gathered again, those first that are
/// needed again soonest.
/// `offloaded`: those that are gathered from parts that are read before. As soon as the unit before such a
/// one is needed its part is read, or, with more room, is gathered, having been read since the second one
/// before.
UnitSchedule gatherUnits(const std::vector<std::vector<size_t>> &unitsAt,
                         const std::vector<int64_t> &unitBytes, const std::vector<char> &stays = {},
                         int64_t room = 0, const std::vector<char> &offloaded = {});

/// Room that is enough for that: on demand, as soon as the one before is needed, with parts that are read
/// before, and where besides nothing is gathered twice.
struct GatherRooms {
  int64_t onDemand = 0, ahead = 0, sent = 0, kept = 0;
};
GatherRooms gatherRooms(const std::vector<std::vector<size_t>> &unitsAt,
                        const std::vector<int64_t> &unitBytes, const std::vector<char> &stays,
                        const std::vector<char> &offloaded);

/// `unitsAt[i]`: units that the i-th command adds to. Each stays from the first to the last one; where `room`
/// is enough, until the next one is scattered.
UnitSchedule scatterUnits(const std::vector<std::vector<size_t>> &unitsAt,
                          const std::vector<int64_t> &unitBytes, int64_t room = 0);

/// Room that is always enough for units to come and go beside the commands.
inline constexpr int64_t kAnyRoom = INT64_MAX;

/// Units in order, each of which is whole while its tensors are updated; where `room` is enough, the next one
/// comes meanwhile. A span for each unit.
UnitSchedule updateUnits(const std::vector<int64_t> &unitBytes, int64_t room);

/// What is gathered: all units, by their numbers, behind those the copies of the first ones of them, and
/// behind those the units of frozen parameters. Bytes of each, and whether it stays.
struct GatheredUnits {
  std::vector<int64_t> bytes;
  std::vector<char> stays;
};
GatheredUnits gatheredUnits(const std::vector<int64_t> &unitBytes, const std::vector<char> &isSmall,
                            size_t copied, const GatheredUnits &frozen = {});
/// Of so many that are gathered which ones are no copies.
std::vector<char> allButCopies(size_t gathered, size_t units, size_t copied);

/// Bytes of the places for gathered parameters and for gradients on their way, in a problem as it runs;
/// nothing where it does not say who reads and who adds. `cutParameters`: as in `unitsOf`. `offloaded`: where
/// devices have parts of parameters, they read them.
struct UnitPlaces {
  int64_t gathered = 0, scattered = 0; ///< at the least
  int64_t ahead = 0, beside = 0;       ///< where they come and go beside the commands
  int64_t sent = 0;                    ///< where besides the gathering of what is read goes beside them
  int64_t kept = 0;                    ///< where besides nothing is gathered twice
};
std::optional<UnitPlaces> unitPlaces(const Problem &runs, bool cutParameters, int64_t devices,
                                     bool offloaded);

/// Units as they come and go in the micro-steps of a problem as it runs, with the room that it says.
struct UnitTimeline {
  size_t units = 0; ///< what is gathered behind these are copies, and frozen ones
  UnitSchedule gathers, scatters;
  std::vector<std::vector<size_t>> commandsAt; ///< the commands of a position, by their place in the problem
  size_t copied = 0;                           ///< how many copies

  bool isBegunAhead() const; ///< a unit begins to come before it is needed
  bool isSentAhead() const;  ///< and devices send it
};
std::optional<UnitTimeline> unitTimeline(const Problem &runs, bool cutParameters, int64_t devices,
                                         bool offloaded);

} // namespace accum::planner
