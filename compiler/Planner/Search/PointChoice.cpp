// SPDX-License-Identifier: Apache-2.0
// Packing in the order of time, then in the order of memory.
#include "compiler/Planner/Search/PointChoice.h"
#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

namespace accum::planner {

namespace {

/// Rectangles that may be packed to find what needs the least.
constexpr size_t kSmallestRectangles = 12'000;

} // namespace

/// The time model's error is a few per cent of a step between machines, and about half of it on a machine
/// that was calibrated; between two plans of one program most of it cancels.
double toleranceOf(const DeviceProfile &profile) { return profile.basis == "measured" ? 0.005 : 0.01; }

ChosenPoint PointChooser::choose() {
  ChosenPoint chosen;
  chosen.point = chosen.fastest = fastestThatFits(chosen);
  if (chosen.fastest == kNoIndex || options.prefer == "speed")
    return chosen;
  int64_t limit = INT64_MAX;
  if (options.prefer == "balanced")
    limit = static_cast<int64_t>(static_cast<double>(points.ticks(chosen.fastest)) * (1 + tolerance));
  chosen.point = leastMemoryWithin(limit, chosen);
  return chosen;
}

/// By packing in the order of time.
int PointChooser::fastestThatFits(ChosenPoint &chosen) {
  std::vector<std::tuple<int64_t, int64_t, int>> order;
  points.forPoints([&](int point) {
    if (points.isAllowed(point) && fits(point))
      order.emplace_back(points.ticks(point), points.counted(point), point);
  });
  std::ranges::sort(order);
  for (auto [ticks, bound, point] : order) {
    if (options.deadline.hasPassed())
      break;
    if (!fits(point))
      continue;
    chosen.packing = points.pack(point);
    if (fits(point))
      return point;
  }
  return options.deadline.hasPassed() ? takeSmallest(chosen) : kNoIndex;
}

/// What needs the least memory of all that take at most `limit` ticks: whatever has the lowest bound is
/// packed, until that is a packing.
int PointChooser::leastMemoryWithin(int64_t limit, ChosenPoint &chosen) {
  using Entry = std::tuple<int64_t, int64_t, int>; // bytes, ticks, point
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  auto add = [&](int point) {
    if (fits(point))
      open.emplace(points.counted(point), points.ticks(point), point);
  };
  points.forPoints([&](int point) {
    if (points.isAllowed(point) && points.ticks(point) <= limit)
      add(point);
  });
  while (!open.empty() && !options.deadline.hasPassed()) {
    auto [bytes, ticks, point] = open.top();
    if (point == chosen.fastest)
      return point;
    open.pop();
    Packing packing = points.pack(point);
    if (points.counted(point) == bytes) {
      chosen.packing = std::move(packing);
      return point;
    }
    add(point);
  }
  return chosen.fastest;
}

/// Where there is no time left: what needs the least, if it fits.
int PointChooser::takeSmallest(ChosenPoint &chosen) {
  int least = leastOfAll();
  if (!points.isAllowed(least) || !fits(least))
    return kNoIndex;
  chosen.packing = points.pack(least);
  return fits(least) ? least : kNoIndex;
}

int PointChooser::leastOfAll() const {
  int least = kNoIndex;
  for (int size = 0; size < points.sizeCount(); ++size) {
    int point = points.least(size);
    if (least == kNoIndex || std::pair(!points.isAllowed(point), points.counted(point)) <
                                 std::pair(!points.isAllowed(least), points.counted(least)))
      least = point;
  }
  return least;
}

int PointChooser::smallest() {
  size_t rectangles = 0;
  int lowest = kNoIndex;
  while (true) {
    int least = leastOfAll();
    bool isOver = options.deadline.hasPassed() || rectangles > kSmallestRectangles;
    if (points.isPacked(least) || (isOver && lowest != kNoIndex))
      return points.isPacked(least) ? least : lowest;
    points.pack(least);
    rectangles += points.asked().buffers.size() + points.asked().commands.size();
    if (lowest == kNoIndex || points.counted(least) < points.counted(lowest))
      lowest = least;
  }
}

} // namespace accum::planner
