// SPDX-License-Identifier: Apache-2.0
// Which parameters of a sharded state are cut, sent and gathered together.
#pragma once
#include "compiler/Planner/Problem/Problem.h"
#include <cstddef>
#include <cstdint>
#include <vector>

namespace accum::planner {

/// Parts of a unit start on multiples of this, in bytes.
inline constexpr int64_t kPartAlignment = 256;

/// Neighbours are one unit as soon as they have a sixteenth of all bytes, or 32 MiB where that is less:
/// enough for a link's full rate, and several units to a step. What is left at the end joins the last one.
/// How many each unit has, in the order of `bytes`, which are those that a tensor takes in the state. Where
/// `kinds` are given, parameters of two kinds share no unit; each kind's stand together.
std::vector<int64_t> shardUnits(const std::vector<int64_t> &bytes, const std::vector<ReadAs> &kinds = {});

/// The most pieces of a part.
inline constexpr int64_t kMostPieces = 64;

/// A unit on so many devices: its bytes, padded to equal parts of equal pieces. Offloaded state passes
/// through a device a piece at a time.
struct UnitSize {
  int64_t bytes = 0, pieces = 1;
};
std::vector<UnitSize> unitSizes(const std::vector<int64_t> &bytes, const std::vector<int64_t> &units,
                                int64_t devices);

/// Bytes of all units together.
int64_t unitBytes(const std::vector<int64_t> &bytes, const std::vector<int64_t> &units, int64_t devices);

/// Of each unit whether it has less than enough: all that there is of its kind.
std::vector<char> smallUnits(const std::vector<int64_t> &bytes, const std::vector<int64_t> &units);

/// The units of a sharded state.
struct UnitLayout {
  /// Numbers of the problem's parameters in the order of the state. Where devices have parts of parameters,
  /// those with copies come first.
  std::vector<size_t> order;
  std::vector<int64_t> counts; ///< parameters of each unit
  std::vector<int64_t> bytes;  ///< of each unit, padding included
  std::vector<int64_t> pieces; ///< of a device's part of it
  std::vector<char> isSmall;
  size_t copied = 0; ///< so many units, the first ones, are read as copies too

  int64_t allBytes() const;
  int64_t copyBytes() const; ///< of the copied units' copies
};

/// `cutParameters`: devices have their parts of parameters only.
UnitLayout unitsOf(const std::vector<Parameter> &parameters, bool cutParameters, int64_t devices);

} // namespace accum::planner
