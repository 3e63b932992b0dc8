// SPDX-License-Identifier: Apache-2.0
// Packings against exhaustive search on small inputs, and their validity on large ones.
#include "compiler/Planner/Packing.h"
#include "test/compiler/Planner/RandomProblem.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

using namespace accum::planner;

namespace {

/// The lowest height there is: in some order, an optimal packing puts each rectangle on what overlaps it in
/// time.
int64_t optimalHeight(const std::vector<Rectangle> &rectangles) {
  std::vector<int> order(rectangles.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t best = INT64_MAX;
  do {
    std::vector<int64_t> tops(rectangles.size(), 0);
    int64_t height = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      const Rectangle &r = rectangles[order[i]];
      int64_t offset = 0;
      for (size_t j = 0; j < i; ++j)
        if (r.start < rectangles[order[j]].end && rectangles[order[j]].start < r.end)
          offset = std::max(offset, tops[order[j]]);
      height = std::max(height, tops[order[i]] = offset + r.size);
    }
    best = std::min(best, height);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(MaxLoad, IsTheLargestSumAliveAtOnce) {
  EXPECT_EQ(maxLoad({}), 0);
  std::vector<Rectangle> touching = {{0, 2, 5}, {2, 4, 7}};
  EXPECT_EQ(maxLoad(touching), 7);
  std::vector<Rectangle> crossing = {{0, 3, 5}, {2, 4, 7}};
  EXPECT_EQ(maxLoad(crossing), 12);
}

TEST(Pack, IsOptimalOnSmallInputs) {
  Random random(1);
  for (int round = 0; round < 400; ++round) {
    auto rectangles = randomRectangles(random, static_cast<int>(draw(random, 1, 7)), 8, 9);
    Packing packing = pack(rectangles);
    ASSERT_TRUE(isPacking(rectangles, packing)) << "round " << round;
    ASSERT_EQ(packing.height, optimalHeight(rectangles)) << "round " << round;
    ASSERT_EQ(packing.height, packing.lowerBound) << "round " << round << ": the optimum is proved";
  }
}

/// The smallest kind of input whose optimum is above its load.
TEST(Pack, ProvesThatTheLoadCannotBeReached) {
  std::vector<Rectangle> rectangles = {{4, 7, 2}, {6, 8, 3}, {3, 5, 3}, {7, 8, 3},
                                       {5, 7, 2}, {4, 6, 1}, {4, 6, 1}, {0, 4, 3}};
  ASSERT_EQ(maxLoad(rectangles), 7);
  ASSERT_EQ(optimalHeight(rectangles), 8);
  Packing packing = pack(rectangles);
  EXPECT_EQ(packing.height, 8);
  EXPECT_EQ(packing.lowerBound, 8);
  EXPECT_LE(pack(rectangles, {.enough = 9}).height, 9);
}

TEST(Pack, FillsARectangleThatWasCut) {
  Random random(6);
  for (int pieces : {20, 60, 100}) {
    auto rectangles = cutRectangle(random, pieces, 50, 1 << 20, 1 << 14);
    Packing packing = pack(rectangles, {.visits = 20'000'000});
    EXPECT_TRUE(isPacking(rectangles, packing));
    EXPECT_EQ(packing.height, 1 << 20) << pieces;
  }
}

TEST(Pack, LargeInputsStayValid) {
  Random random(2);
  for (int count : {100, 400, 2000}) {
    auto rectangles = randomRectangles(random, count, count, 1000);
    Packing packing = pack(rectangles);
    EXPECT_TRUE(isPacking(rectangles, packing)) << count;
    EXPECT_LE(static_cast<double>(packing.height), 1.2 * static_cast<double>(maxLoad(rectangles))) << count;
  }
}

TEST(Pack, IsAFunctionOfItsInput) {
  Random random(3);
  auto rectangles = randomRectangles(random, 500, 300, 1000);
  EXPECT_EQ(pack(rectangles).offsets, pack(rectangles).offsets);
}

TEST(Pack, ManyRectanglesEndInTime) {
  Random random(4);
  auto rectangles = randomRectangles(random, 300'000, 300'000, 1000);
  double begin = cpuSeconds();
  Packing packing = pack(rectangles);
  EXPECT_LT(cpuSeconds() - begin, 20);
  EXPECT_GE(packing.height, maxLoad(rectangles));
}

} // namespace
