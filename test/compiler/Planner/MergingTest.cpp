// SPDX-License-Identifier: Apache-2.0
// What is merged, and that it comes apart again without overlap.
#include "compiler/Planner/Packing/Merging.h"
#include "compiler/Planner/Packing/ValleySearch.h"
#include "test/compiler/Planner/PackingInstances.h"
#include <gtest/gtest.h>

using namespace accum::planner;

namespace {

TEST(Merging, MakesOneOfAPinwheel) {
  std::vector<Rectangle> sides = {{0, 7, 2}, {0, 3, 8}, {3, 7, 5}, {3, 9, 3}, {7, 9, 7}};
  Merging merging(sides);
  std::vector<Rectangle> pieces = merging.pieces();
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].start, 0);
  EXPECT_EQ(pieces[0].end, 9);
  EXPECT_EQ(pieces[0].size, 10);
  std::vector<int64_t> zero = {0};
  EXPECT_TRUE(isPacking(sides, {merging.offsets(zero), 10}));
}

TEST(Merging, LeavesWhatDoesNotFit) {
  std::vector<Rectangle> apart = {{0, 3, 8}, {4, 6, 8}, {3, 7, 5}};
  EXPECT_EQ(Merging(apart).pieces().size(), 3u);
}

/// A deadline that has passed: nothing is merged, and what is left are the rectangles.
TEST(Merging, StopsAtTheDeadline) {
  Random random(11);
  std::vector<Rectangle> pieces = cutRectangle(random, {.pieces = 1000, .horizon = 500});
  Deadline passed = Deadline::in(-1);
  EXPECT_LT(Merging(pieces).pieces().size(), 500u);
  Merging late(pieces, passed);
  EXPECT_EQ(late.pieces().size(), pieces.size());
}

TEST(Merging, OfWhatIsCertainLeavesMore) {
  Random random(3);
  std::vector<Rectangle> pieces =
      cutRectangle(random, {.pieces = 300, .horizon = 200, .grain = 64, .pinwheelPercent = 30});
  size_t certain = Merging(pieces, {.isCertain = true}, {}).pieces().size();
  EXPECT_LT(certain, 290u);
  EXPECT_LT(Merging(pieces, {.least = 150}, {}).pieces().size(), certain);
}

TEST(Merging, LeavesWhatExactSearchPacks) {
  Random random(4);
  std::vector<Rectangle> pieces = cutRectangle(random, {.pieces = 300, .horizon = 200, .grain = 64});
  drop(random, pieces, 5);
  Merging merging(pieces, {.isCertain = true}, {});
  std::vector<Rectangle> left = merging.pieces();
  EXPECT_LT(left.size(), 200u);
  ValleySearch search(left, 1 << 20);
  ASSERT_EQ(search.run(500'000), ValleySearch::Outcome::Found);
  EXPECT_TRUE(isPacking(pieces, {merging.offsets(search.offsets), 1 << 20}));
}

/// Memories from which a few pieces were taken away: room that is worth nothing hides what fits.
TEST(Pack, FillsWhatHasHiddenRoom) {
  for (int percent : {2, 5, 10}) {
    Random random(0);
    std::vector<Rectangle> pieces = cutRectangle(random, {.pieces = 300, .horizon = 200, .grain = 64});
    drop(random, pieces, percent);
    Packing packing = pack(pieces, {.enough = 1 << 20, .visits = 20'000'000});
    EXPECT_TRUE(isPacking(pieces, packing));
    EXPECT_LE(packing.height, 1 << 20) << percent;
  }
}

} // namespace
