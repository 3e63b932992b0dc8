// SPDX-License-Identifier: Apache-2.0
// Neighbours in the state, joined until there is enough of them.
#include "compiler/Planner/Sharing/Units.h"
#include <algorithm>
#include <numeric>

namespace accum::planner {
namespace {

constexpr int64_t kEnoughBytes = 32 << 20, kUnits = 16;

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

/// body(bytes of a unit) for each.
template <typename Body>
static void overUnits(const std::vector<int64_t> &bytes, const std::vector<int64_t> &units, int64_t devices,
                      Body &&body) {
  auto at = bytes.begin();
  for (int64_t count : units) {
    int64_t unit = std::accumulate(at, at + count, int64_t(0)), parts = devices * kPartAlignment;
    body((unit + parts - 1) / parts * parts);
    at += count;
  }
}

int64_t unitBytes(const std::vector<int64_t> &bytes, const std::vector<int64_t> &units, int64_t devices) {
  int64_t sum = 0;
  overUnits(bytes, units, devices, [&](int64_t unit) { sum += unit; });
  return sum;
}

int64_t largestUnit(const std::vector<int64_t> &bytes, const std::vector<int64_t> &units, int64_t devices) {
  int64_t largest = 0;
  overUnits(bytes, units, devices, [&](int64_t unit) { largest = std::max(largest, unit); });
  return largest;
}

} // namespace accum::planner
