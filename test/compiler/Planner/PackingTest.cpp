// SPDX-License-Identifier: Apache-2.0
// Packings against exhaustive search on small inputs, and their validity on large ones.
#include "compiler/Planner/Packing.h"
#include "test/compiler/Planner/RandomProblem.h"
#include <algorithm>
#include <chrono>
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

TEST(Pack, MatchesExhaustiveSearchOnSmallInputs) {
  Random random(1);
  int optimal = 0, rounds = 300;
  for (int round = 0; round < rounds; ++round) {
    auto rectangles = randomRectangles(random, static_cast<int>(draw(random, 1, 7)), 8, 9);
    Packing packing = pack(rectangles);
    int64_t best = optimalHeight(rectangles);
    ASSERT_TRUE(isPacking(rectangles, packing)) << "round " << round;
    ASSERT_GE(packing.height, best) << "round " << round;
    ASSERT_LE(packing.height, best + best / 4 + 1) << "round " << round;
    optimal += packing.height == best;
  }
  EXPECT_GE(optimal, rounds * 95 / 100);
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

TEST(Pack, AMillionRectanglesEndInTime) {
  Random random(4);
  auto rectangles = randomRectangles(random, 1'000'000, 1'000'000, 1000);
  auto begin = std::chrono::steady_clock::now();
  Packing packing = pack(rectangles);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_GE(packing.height, maxLoad(rectangles));
}

} // namespace
