// SPDX-License-Identifier: Apache-2.0
// When units of a sharded state are whole on a device: parameters between being gathered and their last use,
// gradients between their first term and being scattered.
#pragma once
#include "compiler/Planner/Problem/Problem.h"
#include <optional>

namespace accum::planner {

/// A unit in memory, from the position before which it comes to the one behind which it goes, at `offset`
/// bytes of the place for such units.
struct UnitSpan {
  size_t unit = 0, begin = 0, end = 0;
  int64_t offset = 0, bytes = 0;
};

struct UnitSchedule {
  std::vector<UnitSpan> spans; ///< by `begin`
  int64_t bytes = 0;           ///< of the place

  /// The span that a unit is in at a position; null where it is in none.
  const UnitSpan *at(size_t unit, size_t position) const;
};

/// `unitsAt[i]`: units that the i-th command needs. A unit stays where at most one other is needed before it
/// is needed again, else it goes and is gathered again. `stays`: those that stay anyway, being small.
UnitSchedule gatherUnits(const std::vector<std::vector<size_t>> &unitsAt,
                         const std::vector<int64_t> &unitBytes, const std::vector<char> &stays = {});

/// `unitsAt[i]`: units that the i-th command adds to. Each stays from the first to the last one.
UnitSchedule scatterUnits(const std::vector<std::vector<size_t>> &unitsAt,
                          const std::vector<int64_t> &unitBytes);

/// What is gathered: all units, by their numbers, behind those the copies of the first ones of them, and
/// behind those the units of frozen parameters. Bytes of each, and whether it stays.
struct GatheredUnits {
  std::vector<int64_t> bytes;
  std::vector<char> stays;
};
GatheredUnits gatheredUnits(const std::vector<int64_t> &unitBytes, const std::vector<char> &isSmall,
                            size_t copied, const GatheredUnits &frozen = {});

/// Bytes of the places for gathered parameters and for gradients on their way, in a problem as it runs;
/// nothing where it does not say who reads and who adds. `cutParameters`: as in `unitsOf`.
struct UnitPlaces {
  int64_t gathered = 0, scattered = 0;
};
std::optional<UnitPlaces> unitPlaces(const Problem &runs, bool cutParameters, int64_t devices);

} // namespace accum::planner
