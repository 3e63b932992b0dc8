// SPDX-License-Identifier: Apache-2.0
// Packings against exhaustive search on small inputs, and their validity on large ones.
#include "compiler/Planner/Packing/Packing.h"
#include "compiler/Planner/Packing/ValleySearch.h"
#include "test/compiler/Planner/NetworkInstances.h"
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

TEST(ValleySearch, DecidesSmallInputs) {
  Random random(12);
  for (int round = 0; round < 400; ++round) {
    auto rectangles = randomRectangles(random, static_cast<int>(draw(random, 2, 7)), 6, 5);
    int64_t lowest = optimalHeight(rectangles);
    ValleySearch at(rectangles, lowest, static_cast<uint64_t>(round));
    ASSERT_EQ(at.run(100'000), ValleySearch::Outcome::Found) << "round " << round;
    ASSERT_TRUE(isPacking(rectangles, {at.offsets, lowest})) << "round " << round;
    ValleySearch below(rectangles, lowest - 1, static_cast<uint64_t>(round));
    ASSERT_EQ(below.run(100'000), ValleySearch::Outcome::Impossible) << "round " << round;
  }
}

/// What was cut out of a rectangle fits into it, whatever failed on the way there: a search that blames the
/// wrong stretch of time would say that it does not.
TEST(ValleySearch, NeverRefutesWhatFits) {
  Random random(13);
  int found = 0;
  for (int round = 0; round < 600; ++round) {
    int pieces = static_cast<int>(draw(random, 10, 45));
    Cutting cutting{.pieces = pieces,
                    .horizon = pieces / static_cast<int>(draw(random, 1, 3)) + 3,
                    .height = draw(random, 8, 60),
                    .pinwheelPercent = round % 3 * 30,
                    .largestFirst = round % 2 == 0};
    auto rectangles = cutRectangle(random, cutting);
    drop(random, rectangles, round % 4 * 5);
    ValleySearch search(rectangles, cutting.height, static_cast<uint64_t>(round));
    auto outcome = search.run(20'000);
    ASSERT_NE(outcome, ValleySearch::Outcome::Impossible) << "round " << round;
    if (outcome != ValleySearch::Outcome::Found)
      continue;
    ++found;
    ASSERT_TRUE(isPacking(rectangles, {search.offsets, cutting.height})) << "round " << round;
  }
  EXPECT_GE(found, 560);
}

/// What cannot be, with much room and slivers: the floor can be given up in steps of a sliver, tens of
/// thousands of times below each other, for which there is no call stack.
TEST(ValleySearch, GivesUpBeforeTheStackEnds) {
  constexpr int64_t unit = 100'000;
  std::vector<Rectangle> rectangles = {{4, 7, 2}, {6, 8, 3}, {3, 5, 3}, {7, 8, 3},
                                       {5, 7, 2}, {4, 6, 1}, {4, 6, 1}, {0, 4, 3}};
  for (Rectangle &r : rectangles)
    r.size *= unit;
  for (int moment = 0; moment < 8; ++moment)
    rectangles.push_back({moment, moment + 1, 1});
  ValleySearch search(rectangles, 31 * unit / 4);
  EXPECT_NE(search.run(2'000'000), ValleySearch::Outcome::Found);
}

TEST(Pack, FillsARectangleThatWasCut) {
  Random random(6);
  for (int pieces : {20, 60, 100}) {
    auto rectangles =
        cutRectangle(random, {.pieces = pieces, .horizon = 50, .grain = 1 << 14, .largestFirst = false});
    Packing packing = pack(rectangles, {.visits = 20'000'000});
    EXPECT_TRUE(isPacking(rectangles, packing));
    EXPECT_EQ(packing.height, 1 << 20) << pieces;
  }
}

/// Pinwheels: no cut goes through them from edge to edge.
TEST(Pack, FillsWhatNoLineCuts) {
  Random random(8);
  for (int pieces : {50, 100, 150}) {
    auto rectangles =
        cutRectangle(random, {.pieces = pieces, .horizon = 60, .grain = 1024, .pinwheelPercent = 20});
    drop(random, rectangles, 15);
    Packing packing = pack(rectangles, {.enough = 1 << 20, .visits = 100'000'000});
    EXPECT_TRUE(isPacking(rectangles, packing));
    EXPECT_LE(packing.height, 1 << 20) << pieces;
  }
}

/// Memories of tile loops that are full at all times: the load is the capacity, and it is reached.
TEST(Pack, FillsTileLoops) {
  for (TileKind kind : {TileKind::DoubleBuffered, TileKind::Skewed, TileKind::Fan, TileKind::Prefetched})
    for (int shrunk : {0, 20}) {
      Random random(31);
      auto rectangles = tileLoop(random, {.kind = kind, .buffers = 150, .shrunkPercent = shrunk});
      ASSERT_GE(rectangles.size(), 150U);
      ASSERT_LE(maxLoad(rectangles), 1 << 20);
      ASSERT_TRUE(shrunk > 0 || maxLoad(rectangles) == 1 << 20);
      Packing packing = pack(rectangles, {.enough = 1 << 20, .visits = 300'000'000});
      EXPECT_TRUE(isPacking(rectangles, packing));
      EXPECT_LE(packing.height, 1 << 20) << "kind " << static_cast<int>(kind) << ", shrunk " << shrunk;
    }
}

/// What compilers ask for: the load is reached, with the effort of a plan.
TEST(Pack, ReachesTheLoadOfNetworks) {
  for (size_t kind = 0; kind < kNetworkKinds.size(); ++kind)
    for (int buffers : {150, 400}) {
      Random random(200 + kind);
      auto rectangles = networkInstance(random, static_cast<NetworkKind>(kind), buffers);
      ASSERT_GE(rectangles.size(), static_cast<size_t>(buffers));
      Packing packing = pack(rectangles);
      EXPECT_TRUE(isPacking(rectangles, packing)) << kNetworkKinds[kind];
      EXPECT_EQ(packing.height, maxLoad(rectangles)) << kNetworkKinds[kind] << ", " << buffers;
    }
}

/// The load is all but reached though 20,000 are too many for exact search, whether 10 or 10,000 live
/// together.
TEST(Pack, ReachesTheLoadOfTwentyThousand) {
  for (int longest : {20, 200, 20'000}) {
    Random random(static_cast<uint64_t>(20'000 + longest));
    auto rectangles = scatteredRectangles(random, 20'000, longest);
    double begin = cpuSeconds();
    Packing packing = pack(rectangles, {.visits = 100'000'000});
    EXPECT_LT(cpuSeconds() - begin, kHang);
    EXPECT_TRUE(isPacking(rectangles, packing));
    EXPECT_LE(static_cast<double>(packing.height), 1.01 * static_cast<double>(maxLoad(rectangles)))
        << longest;
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
  EXPECT_LT(cpuSeconds() - begin, kHang);
  EXPECT_GE(packing.height, maxLoad(rectangles));
}

} // namespace
