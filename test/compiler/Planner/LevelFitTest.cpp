// SPDX-License-Identifier: Apache-2.0
// Level by level: every way is a packing, more ways are lower, and the effort is kept.
#include "compiler/Planner/LevelFit.h"
#include "test/compiler/Planner/PackingInstances.h"
#include "test/compiler/Planner/RandomProblem.h"
#include <gtest/gtest.h>
#include <iterator>

using namespace accum::planner;

namespace {

/// With lives of up to a tenth of the time: of 3,000 some 150 live together.
std::vector<Rectangle> someOf(uint64_t seed, int count = 3000) {
  Random random(seed);
  return scatteredRectangles(random, count, count / 10);
}

/// Pieces of a full rectangle, in sizes that fit each other by chance as well.
std::vector<Rectangle> coarsePieces(uint64_t seed) {
  Random random(seed);
  return cutRectangle(random, {.pieces = 3000, .horizon = 1500, .grain = 1024});
}

TEST(LevelFit, PacksLowerTheMoreWaysItTries) {
  int64_t few = 0, many = 0, load = 0;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    auto rectangles = someOf(seed);
    GreedyWeights weights(rectangles);
    LevelFit fit(rectangles, weights);
    Packing one = fit.pack({}, 1'000'000, seed), best = fit.pack({}, 20'000'000, seed);
    EXPECT_TRUE(isPacking(rectangles, one));
    EXPECT_TRUE(isPacking(rectangles, best));
    few += one.height;
    many += best.height;
    load += maxLoad(rectangles);
  }
  EXPECT_LT(many, few);
  EXPECT_LT(static_cast<double>(many), 1.02 * static_cast<double>(load));
}

TEST(LevelFit, IsAFunctionOfItsArguments) {
  auto rectangles = someOf(5);
  GreedyWeights weights(rectangles);
  LevelFit fit(rectangles, weights);
  Packing first = fit.pack({0.02, 0.15}, 2'000'000, 1);
  Packing other = fit.pack({}, 2'000'000, 2), again = fit.pack({0.02, 0.15}, 2'000'000, 1);
  EXPECT_EQ(first.offsets, again.offsets);
  EXPECT_NE(first.offsets, other.offsets);
}

TEST(LevelFit, EndsWithItsEffortAndAtTheDeadline) {
  auto rectangles = someOf(6);
  GreedyWeights weights(rectangles);
  LevelFit fit(rectangles, weights);
  EXPECT_EQ(fit.pack({}, 10'000, 0).height, INT64_MAX);
  EXPECT_LT(fit.visited(), 60'000);
  LevelFit late(rectangles, weights, Deadline::in(-1));
  EXPECT_EQ(late.pack({}, 2'000'000, 0).height, INT64_MAX);
}

/// A single one, and many of a single moment that leave no room.
TEST(LevelFit, TakesWhatIsFullAnyway) {
  for (int count : {1, 40}) {
    std::vector<Rectangle> rectangles(static_cast<size_t>(count), {0, 1, 7});
    GreedyWeights weights(rectangles);
    EXPECT_EQ(LevelFit(rectangles, weights).pack({}, 100'000, 0).height, 7 * count);
  }
}

/// Beyond what exact search takes: lower than all greedy passes and variations were, and sliding lower yet.
TEST(LevelFit, LowersWhatThePortfolioFinds) {
  auto rectangles = someOf(7, 6000);
  Packing packing = pack(rectangles, {.visits = 60'000'000});
  ASSERT_TRUE(isPacking(rectangles, packing));
  auto sliding = std::prev(packing.stages.end()), levels = std::prev(sliding), outward = std::prev(levels);
  ASSERT_EQ(sliding->name, "sliding");
  ASSERT_EQ(levels->name, "levels");
  ASSERT_EQ(outward->name, "outward in time");
  EXPECT_LT(sliding->height, levels->height);
  EXPECT_LE(levels->height, outward->height);
  EXPECT_LT(outward->height, std::prev(outward)->height);
}

/// There it is evictions that help, and levels are left out.
TEST(LevelFit, IsLeftOutWhereMuchFitsExactly) {
  Packing packing = pack(coarsePieces(8), {.visits = 20'000'000});
  ASSERT_GT(packing.height, packing.lowerBound);
  EXPECT_EQ(packing.stages.back().name, "evictions");
}

} // namespace
