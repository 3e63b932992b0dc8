// SPDX-License-Identifier: Apache-2.0
// Level by level: every way is a packing, more ways are lower, and the effort is kept.
#include "compiler/Planner/LevelFit.h"
#include "test/compiler/Planner/PackingInstances.h"
#include "test/compiler/Planner/RandomProblem.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace accum::planner;

namespace {

/// 3,000 with lives of up to 300: some 150 live together.
std::vector<Rectangle> someOf(uint64_t seed) {
  Random random(seed);
  return scatteredRectangles(random, 3000, 300);
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
  Packing first = fit.pack({.step = 0.02, .size = 0.2}, 2'000'000, 1);
  Packing other = fit.pack({}, 2'000'000, 2), again = fit.pack({.step = 0.02, .size = 0.2}, 2'000'000, 1);
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

/// Beyond what exact search takes, with lives of a tenth of the time: lower than all greedy passes were.
TEST(LevelFit, LowersWhatThePortfolioFinds) {
  Random random(7);
  auto rectangles = scatteredRectangles(random, 6000, 600);
  Packing packing = pack(rectangles, {.visits = 60'000'000});
  ASSERT_TRUE(isPacking(rectangles, packing));
  auto heightOf = [&](std::string_view name) {
    auto stage = std::ranges::find(packing.stages, name, &PackingStage::name);
    return stage == packing.stages.end() ? INT64_MAX : stage->height;
  };
  EXPECT_LT(heightOf("levels"), heightOf("valley and first fit"));
}

} // namespace
