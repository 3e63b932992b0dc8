// SPDX-License-Identifier: Apache-2.0
// Neighbours in the state, joined until there is enough of them.
#include "compiler/Planner/Sharing/Units.h"
#include <algorithm>
#include <numeric>
#include <utility>

namespace accum::planner {
namespace {

constexpr int64_t kEnoughBytes = 32 << 20, kUnits = 16;
constexpr int64_t kPieceBytes = 4 << 20; // enough for the full rate of a link or a disk

int64_t enoughOf(const std::vector<int64_t> &bytes) {
  return std::clamp<int64_t>(std::accumulate(bytes.begin(), bytes.end(), int64_t(0)) / kUnits, 1,
                             kEnoughBytes);
}

} // namespace

std::vector<int64_t> shardUnits(const std::vector<int64_t> &bytes, const std::vector<ReadAs> &kinds) {
  int64_t least = enoughOf(bytes);
  std::vector<int64_t> units;
  size_t ofKind = 0; // the first unit of the kind
  int64_t inUnit = 0, count = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    inUnit += bytes[i];
    ++count;
    bool isLast = i + 1 == bytes.size() || (!kinds.empty() && kinds[i] != kinds[i + 1]);
    if (inUnit < least && !isLast)
      continue;
    if (inUnit < least && units.size() > ofKind)
      units.back() += count;
    else
      units.push_back(count);
    inUnit = count = 0;
    if (isLast)
      ofKind = units.size();
  }
  return units;
}

static std::vector<int64_t> sumsOf(const std::vector<int64_t> &bytes, const std::vector<int64_t> &units) {
  std::vector<int64_t> sums;
  auto at = bytes.begin();
  for (int64_t count : units) {
    sums.push_back(std::accumulate(at, at + count, int64_t(0)));
    at += count;
  }
  return sums;
}

std::vector<UnitSize> unitSizes(const std::vector<int64_t> &bytes, const std::vector<int64_t> &units,
                                int64_t devices) {
  std::vector<UnitSize> sizes;
  for (int64_t unit : sumsOf(bytes, units)) {
    int64_t pieces = std::clamp<int64_t>(unit / devices / kPieceBytes, 1, kMostPieces);
    int64_t multiple = 2 * devices * pieces * kPartAlignment; // 2: parts of copies in half the bytes, too
    sizes.push_back({(unit + multiple - 1) / multiple * multiple, pieces});
  }
  return sizes;
}

int64_t unitBytes(const std::vector<int64_t> &bytes, const std::vector<int64_t> &units, int64_t devices) {
  int64_t sum = 0;
  for (const UnitSize &unit : unitSizes(bytes, units, devices))
    sum += unit.bytes;
  return sum;
}

std::vector<char> smallUnits(const std::vector<int64_t> &bytes, const std::vector<int64_t> &units) {
  std::vector<char> isSmall;
  for (int64_t unit : sumsOf(bytes, units))
    isSmall.push_back(unit < enoughOf(bytes));
  return isSmall;
}

int64_t UnitLayout::allBytes() const { return std::accumulate(bytes.begin(), bytes.end(), int64_t(0)); }

int64_t UnitLayout::copyBytes() const {
  return std::accumulate(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(copied), int64_t(0)) / 2;
}

UnitLayout unitsOf(const std::vector<Parameter> &parameters, bool cutParameters, int64_t devices) {
  UnitLayout layout;
  layout.order.resize(parameters.size());
  std::iota(layout.order.begin(), layout.order.end(), size_t(0));
  auto kindOf = [&](size_t i) { return parameters[i].readAs; };
  if (cutParameters)
    std::ranges::sort(layout.order, {}, [&](size_t i) { return std::pair(kindOf(i), i); });
  std::vector<int64_t> bytes;
  std::vector<ReadAs> kinds;
  for (size_t i : layout.order) {
    bytes.push_back(parameters[i].bytes);
    kinds.push_back(cutParameters ? kindOf(i) : ReadAs::Itself);
  }
  layout.counts = shardUnits(bytes, kinds);
  layout.isSmall = smallUnits(bytes, layout.counts);
  for (const UnitSize &unit : unitSizes(bytes, layout.counts, devices)) {
    layout.bytes.push_back(unit.bytes);
    layout.pieces.push_back(unit.pieces);
  }
  size_t first = 0;
  for (int64_t count : layout.counts) {
    layout.copied += kinds[first] != ReadAs::Itself ? 1 : 0;
    first += static_cast<size_t>(count);
  }
  return layout;
}

} // namespace accum::planner
