// SPDX-License-Identifier: Apache-2.0
// Rectangles that slide: runs of time against an array, chains against a look at all pairs, and packings.
#include "compiler/Planner/SlidingRace.h"
#include "test/compiler/Planner/PackingInstances.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <tuple>

using namespace accum::planner;

namespace {

TEST(TimeRuns, AreWhatAnArrayHolds) {
  Random random(1);
  for (int horizon : {1, 63, 64, 65, 300, 4096, 10'000}) {
    TimeRuns runs(horizon);
    std::vector<int64_t> values(static_cast<size_t>(horizon), TimeRuns::kNone);
    for (int round = 0; round < 300; ++round) {
      auto start = static_cast<int>(draw(random, 0, horizon - 1));
      auto end =
          static_cast<int>(draw(random, start + 1, round % 3 == 0 ? horizon : std::min(horizon, start + 9)));
      int64_t most = *std::max_element(values.begin() + start, values.begin() + end);
      ASSERT_EQ(runs.folded(start, end, TimeRuns::kNone, [](int64_t a, int64_t b) { return std::max(a, b); }),
                most);
      int64_t value = draw(random, 0, 3) == 0 ? TimeRuns::kNone : draw(random, 0, 1000);
      runs.assign(start, end, value);
      std::fill(values.begin() + start, values.begin() + end, value);
      bool isAny = std::ranges::any_of(values, [](int64_t other) { return other != TimeRuns::kNone; });
      ASSERT_EQ(runs.valued() > 0, isAny);
    }
    runs.reset(3);
    std::ranges::fill(values, 3);
    for (int round = 0; round < 300; ++round) {
      auto start = static_cast<int>(draw(random, 0, horizon - 1));
      auto end = static_cast<int>(draw(random, start + 1, std::min(horizon, start + 1 + round)));
      int64_t added = draw(random, 0, 9);
      int64_t most = *std::max_element(values.begin() + start, values.begin() + end);
      auto larger = [](int64_t a, int64_t b) { return std::max(a, b); };
      runs.replace(start, end, 0, larger, [&](int64_t value) {
        EXPECT_EQ(value, most);
        return value + added;
      });
      std::fill(values.begin() + start, values.begin() + end, most + added);
    }
    for (int time = 0; time < horizon; ++time)
      ASSERT_EQ(runs.folded(time, time + 1, 0, [](int64_t, int64_t b) { return b; }), values[time]);
    runs.reset(7);
    EXPECT_EQ(runs.folded(0, horizon, 0, [](int64_t a, int64_t b) { return a + b; }), 7) << "one run";
  }
}

std::vector<Rectangle> sortedByStart(uint64_t seed, int count, int longest) {
  Random random(seed);
  auto rectangles = scatteredRectangles(random, count, longest);
  std::ranges::sort(rectangles, {}, [](const Rectangle &r) { return std::tuple(r.start, r.end, r.size); });
  return rectangles;
}

/// One on the other, by index.
std::vector<int64_t> towerOf(std::span<const Rectangle> rectangles) {
  std::vector<int64_t> offsets;
  int64_t top = 0;
  for (const Rectangle &r : rectangles) {
    offsets.push_back(top);
    top += r.size;
  }
  return offsets;
}

bool areTogether(const Rectangle &a, const Rectangle &b) { return a.start < b.end && b.start < a.end; }

/// Both ends of what each may slide, in the same order, are packings below the height; of each pair, the one
/// that is lower at its lowest offset is lower at its highest. `isTight`: as far as chains of pairs leave.
void expectChains(const SlidingOrder &order, std::span<const Rectangle> rectangles, bool isTight) {
  auto count = static_cast<int>(rectangles.size());
  for (int index = 0; index < count; ++index) {
    if (!order.stands(index))
      continue;
    int64_t floor = 0, ceiling = order.height();
    for (int other = 0; other < count; ++other) {
      if (other == index || !order.stands(other) || !areTogether(rectangles[index], rectangles[other]))
        continue;
      bool isBelow = order.top(other) <= order.lowest(index);
      ASSERT_TRUE(isBelow || order.top(index) <= order.lowest(other));
      if (isBelow)
        floor = std::max(floor, order.top(other));
      else
        ceiling = std::min(ceiling, order.highest(other));
    }
    ASSERT_LE(order.lowest(index), order.highest(index));
    ASSERT_GE(order.lowest(index), floor);
    ASSERT_LE(order.highest(index) + rectangles[index].size, ceiling);
    if (isTight) {
      ASSERT_EQ(order.lowest(index), floor);
      ASSERT_EQ(order.highest(index) + rectangles[index].size, ceiling);
    }
  }
}

/// The lowest cut at which a rectangle fits with nothing in the way; -1: none.
int64_t freeCut(const SlidingOrder &order, std::span<const Rectangle> rectangles, int index,
                const std::vector<int> &near) {
  std::vector<int64_t> cuts = {0};
  for (int other : near)
    cuts.push_back(order.top(other));
  std::ranges::sort(cuts);
  int64_t size = rectangles[index].size;
  for (int64_t cut : cuts)
    if (cut + size <= order.height() && std::ranges::all_of(near, [&](int other) {
          return order.top(other) <= cut || order.highest(other) >= cut + size;
        }))
      return cut;
  return -1;
}

TEST(SlidingOrder, LeavesWhatChainsLeave) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    auto rectangles = sortedByStart(seed, 120, seed % 2 == 0 ? 30 : 120);
    SlidingOrder order(rectangles);
    order.begin(towerOf(rectangles), maxLoad(rectangles) * 3 / 2);
    expectChains(order, rectangles, true);
    Random random(seed);
    std::vector<int> near;
    int puts = 0;
    for (int round = 0; round < 1200; ++round) {
      auto index = static_cast<int>(draw(random, 0, 119));
      if (order.stands(index)) {
        order.remove(index);
        continue;
      }
      order.collectNear(index, near);
      for (int other = 0; other < 120; ++other)
        ASSERT_EQ(std::ranges::count(near, other),
                  order.stands(other) && areTogether(rectangles[index], rectangles[other]) ? 1 : 0);
      int64_t cut = freeCut(order, rectangles, index, near);
      if (cut < 0)
        continue;
      order.put(index, cut, near);
      expectChains(order, rectangles, ++puts % 192 == 0);
    }
    EXPECT_GE(puts, 200);
  }
}

/// Two free below what has to slide, and two above it, hold three.
TEST(SlidingOrder, GathersGaps) {
  std::vector<Rectangle> rectangles = {{0, 2, 2}, {0, 4, 1}, {0, 4, 1}, {2, 4, 3}};
  SlidingOrder order(rectangles);
  std::vector<int64_t> offsets = {0, 2, 3, 4};
  order.begin(offsets, 6);
  ASSERT_FALSE(order.stands(3));
  EXPECT_EQ(order.lowest(1), 2);
  EXPECT_EQ(order.highest(1), 4);
  std::vector<int> near;
  order.collectNear(3, near);
  ASSERT_EQ(freeCut(order, rectangles, 3, near), 0);
  order.put(3, 0, near);
  EXPECT_EQ(order.lowest(1), 3);
  EXPECT_EQ(order.lowest(2), 4);
  EXPECT_EQ(order.highest(3), 1);
  EXPECT_EQ(order.highest(0), 2);
  order.raise(9);
  EXPECT_EQ(order.height(), 9);
  EXPECT_EQ(order.highest(0), 5);
  EXPECT_EQ(order.highest(2), 8);
  EXPECT_EQ(order.lowest(2), 4);
}

TEST(SlidingEvictions, EndInAPackingBelowTheHeight) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    auto rectangles = scatteredRectangles(random, 300, 40);
    SlidingEvictions sliding(rectangles, towerOf(rectangles));
    int64_t height = maxLoad(rectangles) * 21 / 20;
    ASSERT_TRUE(sliding.run(height, 50'000'000)) << seed;
    Packing packing{sliding.offsets(), height};
    for (size_t index = 0; index < rectangles.size(); ++index)
      EXPECT_LE(packing.offsets[index] + rectangles[index].size, height);
    packing.height = 0;
    for (size_t index = 0; index < rectangles.size(); ++index)
      packing.height = std::max(packing.height, packing.offsets[index] + rectangles[index].size);
    EXPECT_TRUE(isPacking(rectangles, packing)) << seed;
    EXPECT_FALSE(sliding.run(maxLoad(rectangles) - 1, 100'000)) << "below the load";
    EXPECT_EQ(sliding.offsets(), packing.offsets) << "what was found stays";
    ASSERT_TRUE(sliding.run(height, 50'000'000)) << "goes on from what failed";
    Packing next{sliding.offsets(), height};
    for (size_t index = 0; index < rectangles.size(); ++index)
      EXPECT_LE(next.offsets[index] + rectangles[index].size, height);
    next.height = 0;
    for (size_t index = 0; index < rectangles.size(); ++index)
      next.height = std::max(next.height, next.offsets[index] + rectangles[index].size);
    EXPECT_TRUE(isPacking(rectangles, next)) << seed;
    EXPECT_NE(next.offsets, packing.offsets) << "and not from what was found";
  }
}

TEST(SlidingEvictions, RefuseWhatIsHigherThanTheHeight) {
  std::vector<Rectangle> one = {{0, 1, 10}};
  SlidingEvictions sliding(one, {5});
  EXPECT_FALSE(sliding.run(9, 1000));
  ASSERT_TRUE(sliding.run(10, 1000));
  EXPECT_EQ(sliding.offsets().front(), 0);
}

TEST(SlidingRace, IsAFunctionOfItsEffort) {
  Random random(5);
  auto rectangles = scatteredRectangles(random, 3000, 300);
  Packing first = pack(rectangles, {.visits = 100'000}), second{towerOf(rectangles)};
  second.height = second.offsets.back() + rectangles.back().size;
  int64_t load = maxLoad(rectangles);
  auto race = [&](int64_t visits, Deadline deadline = {}) {
    SlidingRace race(rectangles, load, false, deadline);
    race.enter(second);
    race.enter(first);
    return race.run(visits);
  };
  EXPECT_EQ(race(0).height, first.height) << "the lowest that entered";
  EXPECT_EQ(race(100'000'000, Deadline::in(-1)).height, first.height);
  Packing few = race(20'000'000), many = race(100'000'000);
  EXPECT_TRUE(isPacking(rectangles, few));
  EXPECT_TRUE(isPacking(rectangles, many));
  EXPECT_LT(many.height, first.height);
  EXPECT_LE(many.height, few.height);
  EXPECT_EQ(race(20'000'000).offsets, few.offsets);
}

/// Where a height was given, what ends a little above it is as good as nothing.
TEST(SlidingRace, GoesOnALittleAboveWhatIsWanted) {
  int lower = 0;
  for (uint64_t seed = 3; seed < 6; ++seed) {
    Random random(seed);
    auto rectangles = scatteredRectangles(random, 2500, 250);
    Packing first = pack(rectangles, {.visits = 100'000});
    int64_t enough = maxLoad(rectangles) + maxLoad(rectangles) / 500;
    auto race = [&](bool isWanted) {
      SlidingRace race(rectangles, enough, isWanted);
      race.enter(first);
      return race.run(40'000'000).height;
    };
    int64_t wanted = race(true), near = race(false);
    EXPECT_LE(wanted, near) << seed;
    lower += wanted < near ? 1 : 0;
  }
  EXPECT_GT(lower, 0);
}

} // namespace
