// SPDX-License-Identifier: Apache-2.0
// What is glued, and that it comes apart again without overlap.
#include "compiler/Planner/GluedSearch.h"
#include "test/compiler/Planner/PackingInstances.h"
#include <gtest/gtest.h>

using namespace accum::planner;

namespace {

TEST(Gluing, MakesOneOfAPinwheel) {
  std::vector<Rectangle> sides = {{0, 7, 2}, {0, 3, 8}, {3, 7, 5}, {3, 9, 3}, {7, 9, 7}};
  Gluing gluing(sides);
  std::vector<Rectangle> pieces = gluing.pieces();
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].start, 0);
  EXPECT_EQ(pieces[0].end, 9);
  EXPECT_EQ(pieces[0].size, 10);
  std::vector<int64_t> zero = {0};
  EXPECT_TRUE(isPacking(sides, {gluing.offsets(zero), 10}));
}

TEST(Gluing, LeavesWhatDoesNotFit) {
  std::vector<Rectangle> apart = {{0, 3, 8}, {4, 6, 8}, {3, 7, 5}};
  EXPECT_EQ(Gluing(apart).pieces().size(), 3u);
}

/// A deadline that has passed: nothing is glued, and what is left are the rectangles.
TEST(Gluing, StopsAtTheDeadline) {
  Random random(11);
  std::vector<Rectangle> pieces = cutRectangle(random, {.pieces = 1000, .horizon = 500});
  Deadline passed = Deadline::in(-1);
  EXPECT_LT(Gluing(pieces).pieces().size(), 500u);
  Gluing late(pieces, passed);
  EXPECT_EQ(late.pieces().size(), pieces.size());
  drop(random, pieces, 5);
  EXPECT_FALSE(fillers(pieces, pieces.size()).empty());
  EXPECT_TRUE(fillers(pieces, pieces.size(), passed).empty());
  auto never = [](const std::vector<Rectangle> &) -> Packing {
    ADD_FAILURE();
    return {};
  };
  EXPECT_EQ(packGlued(pieces, never, passed).height, INT64_MAX);
}

/// A chain that makes one piece, below steps of load that need a filler each: what is free is not filled, so
/// that there is no full memory whose cuts could be undone.
TEST(Gluing, IsLeftOutWhereTooMuchIsFree) {
  constexpr int kSteps = 300, kLinks = 1000;
  std::vector<Rectangle> pieces;
  for (int link = 0; link < kLinks; ++link)
    pieces.push_back({link, link + 1, 5});
  for (int step = 1; step <= kSteps; ++step)
    pieces.push_back({step, kLinks - step, 2 * step + 1});
  EXPECT_LE(4 * Gluing(pieces).pieces().size(), pieces.size());
  auto never = [](const std::vector<Rectangle> &) -> Packing {
    ADD_FAILURE();
    return {};
  };
  EXPECT_EQ(packGlued(pieces, never).height, INT64_MAX);
}

TEST(Gluing, OfWhatIsCertainLeavesMore) {
  Random random(3);
  std::vector<Rectangle> pieces =
      cutRectangle(random, {.pieces = 300, .horizon = 200, .grain = 64, .pinwheelPercent = 30});
  size_t certain = Gluing(pieces, {.isCertain = true}, {}).pieces().size();
  EXPECT_LT(certain, 290u);
  EXPECT_LT(Gluing(pieces, {.least = 150}, {}).pieces().size(), certain);
}

TEST(GluedSearch, FindsAPackingOfWhatWasGlued) {
  Random random(4);
  std::vector<Rectangle> pieces = cutRectangle(random, {.pieces = 300, .horizon = 200, .grain = 64});
  drop(random, pieces, 5);
  GluedSearch search(pieces, {.isCertain = true}, 1 << 20, 0);
  EXPECT_LT(search.pieces(), 200u);
  ASSERT_EQ(search.run(500'000), ValleySearch::Outcome::Found);
  EXPECT_TRUE(isPacking(pieces, {search.offsets(), 1 << 20}));
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

TEST(Gluing, PacksCutRectanglesFarLowerThanPassesDo) {
  for (int pinwheels : {0, 100}) {
    Random random(7 + static_cast<uint64_t>(pinwheels));
    Cutting cutting{.pieces = 5000, .horizon = 2500, .pinwheelPercent = pinwheels};
    std::vector<Rectangle> pieces = cutRectangle(random, cutting);
    Packing packing = pack(pieces, {.visits = 20'000'000});
    EXPECT_TRUE(isPacking(pieces, packing));
    EXPECT_LE(packing.height, cutting.height * 11 / 10); // passes alone end at 1.2
  }
}

TEST(Fillers, FillWhatIsFree) {
  Random random(5);
  std::vector<Rectangle> pieces = cutRectangle(random, {.pieces = 300, .horizon = 150, .grain = 1024});
  drop(random, pieces, 5);
  std::vector<Rectangle> free = fillers(pieces, pieces.size());
  EXPECT_FALSE(free.empty());
  EXPECT_LT(free.size(), 40u);
  int64_t most = maxLoad(pieces);
  std::vector<int64_t> load(150, 0);
  for (const std::vector<Rectangle> *list : {&pieces, &free})
    for (const Rectangle &r : *list)
      for (int at = r.start; at < r.end; ++at)
        load[at] += r.size;
  for (int64_t each : load)
    EXPECT_EQ(each, most);
  EXPECT_TRUE(fillers(pieces, 1).empty());
}

} // namespace
