// SPDX-License-Identifier: Apache-2.0
// Two stacks without a gap: against the loads of what they hold, and against a look at every row.
#include "compiler/Planner/OpposedStacks.h"
#include "compiler/Planner/LevelFit.h"
#include "compiler/Planner/LevelPasses.h"
#include "test/compiler/Planner/PackingInstances.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace accum::planner;

namespace {

constexpr OpposedStacks::Setting kSetting = {0.05, 0.2};

/// Lives of up to a tenth of the time, of 3,000; where `shortest` is large, none lives within the moments.
std::vector<Rectangle> someOf(uint64_t seed, int shortest = 1) {
  Random random(seed);
  auto rectangles = scatteredRectangles(random, 3000, 300);
  for (Rectangle &r : rectangles)
    r.end = std::max(r.end, r.start + shortest);
  return rectangles;
}

/// What stands where, by the rows.
std::vector<std::pair<int, int64_t>> placesOf(const OpposedStacks &stacks) {
  std::vector<std::pair<int, int64_t>> places;
  for (const auto *rows : {&stacks.ending, &stacks.beginning}) {
    int64_t offset = rows == &stacks.ending ? 0 : stacks.hanging;
    for (const OpposedStacks::Row &row : *rows) {
      places.emplace_back(row.index, offset);
      if (row.other >= 0)
        places.emplace_back(row.other, offset);
      offset += row.size;
    }
  }
  return places;
}

TEST(OpposedStacks, KeepApartWhatBeginsAndEnds) {
  int beside = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    auto rectangles = someOf(seed);
    OpposedStacks stacks = opposedStacks(rectangles, GreedyWeights(rectangles), kSetting);
    ASSERT_FALSE(stacks.isEmpty());
    auto places = placesOf(stacks);
    for (size_t a = 0; a < places.size(); ++a) {
      const Rectangle &r = rectangles[places[a].first];
      ASSERT_GE(places[a].second, 0);
      ASSERT_LE(places[a].second + r.size, stacks.height);
      for (size_t b = 0; b < a; ++b) {
        const Rectangle &s = rectangles[places[b].first];
        // Only at these moments: the rest of their lives is for whoever stands beside.
        bool together = std::max({r.start, s.start, stacks.start}) < std::min({r.end, s.end, stacks.end});
        ASSERT_TRUE(!together || places[a].second >= places[b].second + s.size ||
                    places[b].second >= places[a].second + r.size)
            << seed;
      }
    }
    size_t rows = stacks.ending.size() + stacks.beginning.size();
    beside += static_cast<int>(places.size() - rows);
    for (size_t index = 0; index < rectangles.size(); ++index) {
      const Rectangle &r = rectangles[index];
      ASSERT_EQ(stacks.isThere[index] != 0, r.start < stacks.end && stacks.start < r.end);
    }
  }
  EXPECT_GT(beside, 0);
}

/// No gap but what the load leaves, where nothing lives for these moments only.
TEST(OpposedStacks, AreAsHighAsTheLoadOfWhatTheyHold) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    auto rectangles = someOf(seed, 60);
    OpposedStacks stacks = opposedStacks(rectangles, GreedyWeights(rectangles), kSetting);
    ASSERT_FALSE(stacks.isEmpty());
    std::vector<Rectangle> held;
    for (size_t index = 0; index < rectangles.size(); ++index) {
      Rectangle r = rectangles[index];
      bool isInside = r.start > stacks.start || r.end < stacks.end;
      r = {std::max(r.start, stacks.start), std::min(r.end, stacks.end), r.size};
      if (stacks.isThere[index] != 0 && isInside)
        held.push_back(r);
    }
    ASSERT_EQ(held.size(), stacks.ending.size() + stacks.beginning.size());
    EXPECT_EQ(stacks.height, maxLoad(held));
  }
}

TEST(OpposedStacks, AreLeftOutWhereNothingIsGained) {
  auto rectangles = someOf(1);
  GreedyWeights weights(rectangles);
  EXPECT_TRUE(opposedStacks(rectangles, weights, {}).isEmpty());
  EXPECT_TRUE(opposedStacks({}, GreedyWeights({}), kSetting).isEmpty());
  for (Rectangle &r : rectangles) // most live for a few of these moments only
    r.end = std::min(r.end, r.start + 5);
  EXPECT_TRUE(opposedStacks(rectangles, GreedyWeights(rectangles), {1, 40}).isEmpty());
  std::vector<Rectangle> equal(50, {3, 900, 7});
  EXPECT_TRUE(opposedStacks(equal, GreedyWeights(equal), kSetting).isEmpty());
}

TEST(RowCeilings, AreThoseOfTheNextRowAbove) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    auto rectangles = someOf(seed);
    OpposedStacks stacks = opposedStacks(rectangles, GreedyWeights(rectangles), kSetting);
    for (bool isBefore : {true, false}) {
      const auto &rows = isBefore ? stacks.ending : stacks.beginning;
      RowCeilings ceilings(rectangles, rows, 1000, isBefore);
      for (size_t index = 0; index < rectangles.size(); index += 7) {
        const Rectangle &r = rectangles[index];
        if (isBefore ? r.end > stacks.start : r.start < stacks.end)
          continue;
        ceilings.next = index % (rows.size() + 1);
        int64_t expected = INT64_MAX;
        for (size_t row = rows.size(); row-- > ceilings.next;) {
          const Rectangle &above = rectangles[rows[row].index];
          if (above.start < r.end && r.start < above.end)
            expected = ceilings.offset(row);
        }
        ASSERT_EQ(ceilings.over(r), expected) << seed << ' ' << index;
      }
    }
  }
}

/// Packings, and lower ones where many live longer than these moments are.
TEST(LevelFit, IsLowerWithStacks) {
  double with = 0, without = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    auto rectangles = someOf(seed);
    GreedyWeights weights(rectangles);
    LevelFit fit(rectangles, weights);
    Packing plain = fit.pack({}, 10'000'000, seed);
    Packing stacked = fit.pack({0.02, 0.15}, 10'000'000, seed);
    ASSERT_TRUE(isPacking(rectangles, plain));
    ASSERT_TRUE(isPacking(rectangles, stacked));
    without += static_cast<double>(plain.height);
    with += static_cast<double>(stacked.height);
  }
  EXPECT_LT(with, without);
}

/// At the edges of time, where one of the sides has no moments, and where a row is as large as memory.
TEST(LevelFit, StacksAtTheEdges) {
  for (int shift : {0, 290}) {
    Random random(static_cast<uint64_t>(shift));
    std::vector<Rectangle> rectangles;
    for (int index = 0; index < 400; ++index) {
      auto start = static_cast<int>(draw(random, 0, 40));
      rectangles.push_back({start, start + static_cast<int>(draw(random, 20, 60)), draw(random, 1, 99)});
    }
    rectangles.push_back({0, 30, int64_t{1} << 60});
    for (int index = 0; index < 100; ++index)
      rectangles.push_back({0, 1 + shift, 1});
    GreedyWeights weights(rectangles);
    LevelFit fit(rectangles, weights);
    for (OpposedStacks::Setting stacks : {OpposedStacks::Setting{0.5, 1}, {1, 0.3}, {0.9, 3}}) {
      Packing packing = fit.pack(stacks, 5'000'000, 1);
      ASSERT_LT(packing.height, INT64_MAX);
      EXPECT_TRUE(isPacking(rectangles, packing));
    }
  }
}

TEST(LevelPasses, EndWithTheEffort) {
  auto rectangles = someOf(3);
  GreedyWeights weights(rectangles);
  auto passes = [&](const PackingEffort &effort, int64_t least = 0) {
    int64_t visits = effort.visits;
    auto packings = levelPasses(rectangles, weights, effort, least, visits);
    EXPECT_EQ(packings.empty(), visits == effort.visits);
    return packings;
  };
  auto packings = passes({.visits = 30'000'000});
  EXPECT_GE(packings.size(), 2u);
  for (const Packing &packing : packings)
    EXPECT_TRUE(isPacking(rectangles, packing));
  EXPECT_EQ(passes({.visits = 30'000'000}).back().offsets, packings.back().offsets);
  EXPECT_TRUE(passes({.visits = 30'000'000}, 1'000'000'000).empty());
  EXPECT_TRUE(passes({.visits = 30'000'000, .deadline = Deadline::in(-1)}).empty());
}

} // namespace
