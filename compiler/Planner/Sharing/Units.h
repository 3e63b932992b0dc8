// SPDX-License-Identifier: Apache-2.0
// Which parameters of a sharded state are cut, sent and gathered together.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace accum::planner {

/// Parts of a unit start on multiples of this, in bytes.
inline constexpr int64_t kPartAlignment = 256;

/// Neighbours are one unit as soon as they have a sixteenth of all bytes, or 32 MiB where that is less:
/// enough for a link's full rate, and several units to a step. What is left at the end joins the last one.
/// How many each unit has, in the order of `bytes`, which are those that a tensor takes in the state.
std::vector<int64_t> shardUnits(const std::vector<int64_t> &bytes);

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

} // namespace accum::planner
