// SPDX-License-Identifier: Apache-2.0
// Units: groups of parameters that are cut, sent and gathered together.
#pragma once
#include "compiler/Planner/Problem/Problem.h"
#include <cstddef>
#include <cstdint>
#include <vector>

namespace accum::planner {

/// Parts of a unit begin at multiples of so many bytes.
inline constexpr int64_t kPartAlignment = 256;

/// The number of parameters of each unit. `bytes` are the bytes of each parameter in the state, in its order.
/// Neighbours are joined until they have a sixteenth of all bytes, or 32 MiB where that is less: enough for
/// the full rate of a link, and several units in a step. The rest at the end joins the last unit. If `kinds`
/// are given, a unit has parameters of one kind, and equal kinds must be neighbours.
std::vector<int64_t> shardUnits(const std::vector<int64_t> &bytes, const std::vector<ReadAs> &kinds = {});

/// A part has at most so many pieces.
inline constexpr int64_t kMostPieces = 64;

/// Bytes of a unit, padded to one equal part for each device, each of which has equal pieces. Offloaded state
/// passes through a device piece by piece.
struct UnitSize {
  int64_t bytes = 0, pieces = 1;
};
std::vector<UnitSize> unitSizes(const std::vector<int64_t> &bytes, const std::vector<int64_t> &units,
                                int64_t devices);

/// Bytes of all units together.
int64_t unitBytes(const std::vector<int64_t> &bytes, const std::vector<int64_t> &units, int64_t devices);

/// Marks units that are smaller than a unit should be. Such a unit is the only one of its kind.
std::vector<char> smallUnits(const std::vector<int64_t> &bytes, const std::vector<int64_t> &units);

/// The units of a sharded state.
struct UnitLayout {
  /// Indices of the problem's parameters in the order of the state. Where a device has a part of the
  /// parameters only, those with copies come first.
  std::vector<size_t> order;
  std::vector<int64_t> counts; ///< of parameters, by unit
  std::vector<int64_t> bytes;  ///< by unit, padding included
  std::vector<int64_t> pieces; ///< of a device's part, by unit
  std::vector<char> isSmall;
  size_t copied = 0; ///< number of units, the first ones, that have a copy in half the bytes

  int64_t allBytes() const;
  int64_t copyBytes() const; ///< of all copies
};

/// `cutParameters`: a device has its part of the parameters only.
UnitLayout unitsOf(const std::vector<Parameter> &parameters, bool cutParameters, int64_t devices);

} // namespace accum::planner
