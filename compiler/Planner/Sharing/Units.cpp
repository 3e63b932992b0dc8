// SPDX-License-Identifier: Apache-2.0
// Neighbours in the state, joined until there is enough of them.
#include "compiler/Planner/Sharing/Units.h"
#include <algorithm>
#include <numeric>

namespace accum::planner {
namespace {

constexpr int64_t kEnoughBytes = 32 << 20, kUnits = 16;
constexpr int64_t kPieceBytes = 4 << 20; // enough for the full rate of a link or a disk

} // namespace

std::vector<int64_t> shardUnits(const std::vector<int64_t> &bytes) {
  int64_t least =
      std::clamp<int64_t>(std::accumulate(bytes.begin(), bytes.end(), int64_t(0)) / kUnits, 1, kEnoughBytes);
  std::vector<int64_t> units;
  int64_t inUnit = 0, count = 0;
  for (int64_t each : bytes) {
    inUnit += each;
    ++count;
    if (inUnit < least)
      continue;
    units.push_back(count);
    inUnit = count = 0;
  }
  if (count > 0 && units.empty())
    units.push_back(0);
  if (count > 0)
    units.back() += count;
  return units;
}

std::vector<UnitSize> unitSizes(const std::vector<int64_t> &bytes, const std::vector<int64_t> &units,
                                int64_t devices) {
  std::vector<UnitSize> sizes;
  auto at = bytes.begin();
  for (int64_t count : units) {
    int64_t unit = std::accumulate(at, at + count, int64_t(0));
    int64_t pieces = std::clamp<int64_t>(unit / devices / kPieceBytes, 1, kMostPieces);
    int64_t multiple = devices * pieces * kPartAlignment;
    sizes.push_back({(unit + multiple - 1) / multiple * multiple, pieces});
    at += count;
  }
  return sizes;
}

int64_t unitBytes(const std::vector<int64_t> &bytes, const std::vector<int64_t> &units, int64_t devices) {
  int64_t sum = 0;
  for (const UnitSize &unit : unitSizes(bytes, units, devices))
    sum += unit.bytes;
  return sum;
}

} // namespace accum::planner
