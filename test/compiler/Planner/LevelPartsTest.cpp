// SPDX-License-Identifier: Apache-2.0
// What levels are built of: candidates in blocks against a look at each, floors in a list against an array.
#include "compiler/Planner/CandidateBlocks.h"
#include "compiler/Planner/LevelFloors.h"
#include "test/compiler/Planner/RandomProblem.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace accum::planner;

namespace {

constexpr int kHorizon = 300;

/// Candidates, and what each weighs, looked at one by one.
class Candidates {
public:
  explicit Candidates(uint64_t seed)
      : random(seed), rectangles(randomRectangles(random, 1000, kHorizon, 50)), isPlaced(1000, 0),
        blocks(rectangles, kHorizon) {
    for (size_t index = 0; index < rectangles.size(); ++index)
      base.push_back(static_cast<float>(draw(random, 1, 1000)));
    clock.push_back(0);
    for (int time = 0; time < kHorizon; ++time)
      clock.push_back(clock.back() + static_cast<double>(draw(random, 1, 64)) / 64);
    blocks.arrange(isPlaced);
    blocks.weigh(base, clock, isPlaced);
  }

  CandidateBlocks::Valley valley() {
    auto start = static_cast<int>(draw(random, 0, kHorizon - 1));
    auto end = static_cast<int>(draw(random, start + 1, kHorizon));
    return {start, end, at(start), at(end), static_cast<float>(draw(random, 1, 50))};
  }

  float at(int time) const { return static_cast<float>(clock[static_cast<size_t>(time)]); }

  /// Without noise; 0: not inside, or not there.
  float weight(size_t index, const CandidateBlocks::Valley &valley, float perUnit) const {
    const Rectangle &r = rectangles[index];
    if (isPlaced[index] != 0 || r.start < valley.start || r.end > valley.end)
      return 0;
    float weight = base[index] * (at(r.end) - at(r.start));
    weight /= 1 + (at(r.start) - valley.from + valley.to - at(r.end)) * perUnit;
    weight *= static_cast<float>(r.size) == valley.size ? 2 : 1;
    return r.start == valley.start && r.end == valley.end ? 2 * weight : weight;
  }

  float heaviest(const CandidateBlocks::Valley &valley, float perUnit) const {
    float most = 0;
    for (size_t index = 0; index < rectangles.size(); ++index)
      most = std::max(most, weight(index, valley, perUnit));
    return most;
  }

  Random random;
  std::vector<Rectangle> rectangles;
  std::vector<char> isPlaced;
  std::vector<float> base;
  std::vector<double> clock;
  CandidateBlocks blocks;
  int64_t visits = 0;
};

/// Whatever was taken before, and arranged anew or not.
TEST(CandidateBlocks, FindTheHeaviestInside) {
  Candidates all(1);
  for (int round = 0; round < 800; ++round) {
    CandidateBlocks::Valley valley = all.valley();
    float perUnit = static_cast<float>(draw(all.random, 0, 20)) / 8;
    int at = all.blocks.heaviest(valley, {perUnit, 0, 0}, all.visits);
    float most = all.heaviest(valley, perUnit);
    ASSERT_EQ(at >= 0, most > 0) << round;
    if (at < 0)
      continue;
    auto index = static_cast<size_t>(all.blocks.rectangleAt(at));
    ASSERT_NEAR(all.weight(index, valley, perUnit), most, 1e-5 * most) << round;
    all.blocks.take(at);
    all.isPlaced[index] = 1;
    if (round % 100 == 99) {
      all.blocks.arrange(all.isPlaced);
      all.blocks.weigh(all.base, all.clock, all.isPlaced);
    }
  }
  EXPECT_GT(std::ranges::count(all.isPlaced, 1), 500);
}

/// Of 1,000, and the more bounds leave out the better: a block of sixteen costs four visits.
TEST(CandidateBlocks, LeaveOutMost) {
  Candidates all(2);
  for (int round = 0; round < 100; ++round)
    all.blocks.heaviest({0, kHorizon, all.at(0), all.at(kHorizon), 0}, {1, 0, 0}, all.visits);
  EXPECT_LT(all.visits, 100 * 100);
}

TEST(CandidateBlocks, PutBackWhatWasTaken) {
  Candidates all(3);
  CandidateBlocks::Valley whole = {0, kHorizon, all.at(0), all.at(kHorizon), 0};
  int first = all.blocks.heaviest(whole, {1, 0, 0}, all.visits);
  all.blocks.take(first);
  EXPECT_NE(all.blocks.heaviest(whole, {1, 0, 0}, all.visits), first);
  all.blocks.putBack(first);
  EXPECT_EQ(all.blocks.heaviest(whole, {1, 0, 0}, all.visits), first);
}

/// Another choice of noise, mostly another rectangle; the same, the same.
TEST(CandidateBlocks, AreChosenByTheSalt) {
  Candidates all(4);
  int others = 0;
  for (int round = 0; round < 50; ++round) {
    CandidateBlocks::Valley valley = {0, kHorizon, all.at(0), all.at(kHorizon), 0};
    auto salt = static_cast<size_t>(round) + 1;
    int at = all.blocks.heaviest(valley, {1, 5, salt}, all.visits);
    EXPECT_EQ(at, all.blocks.heaviest(valley, {1, 5, salt}, all.visits));
    others += at != all.blocks.heaviest(valley, {1, 5, 0}, all.visits);
  }
  EXPECT_GT(others, 25);
}

/// Nothing stands higher than the next row above it, wherever the floor is.
TEST(CandidateBlocks, StayBelowCeilings) {
  Candidates all(6);
  std::vector<OpposedStacks::Row> rows;
  for (int index = 0; index < 40; ++index)
    rows.push_back({.index = index, .edge = 0, .size = 3});
  RowCeilings ceilings(all.rectangles, rows, 20, true);
  int found = 0;
  for (int round = 0; round < 400; ++round) {
    CandidateBlocks::Valley valley = all.valley();
    ceilings.next = static_cast<size_t>(draw(all.random, 0, 40));
    valley.ceilings = &ceilings;
    valley.floor = draw(all.random, 0, 100);
    float most = 0;
    for (size_t index = 0; index < all.rectangles.size(); ++index)
      if (all.rectangles[index].size <= ceilings.over(all.rectangles[index]) - valley.floor)
        most = std::max(most, all.weight(index, valley, 1));
    int at = all.blocks.heaviest(valley, {1, 0, 0}, all.visits);
    ASSERT_EQ(at >= 0, most > 0) << round;
    if (at < 0)
      continue;
    ++found;
    const Rectangle &r = all.rectangles[static_cast<size_t>(all.blocks.rectangleAt(at))];
    ASSERT_LE(r.size, ceilings.over(r) - valley.floor);
    ASSERT_NEAR(all.weight(static_cast<size_t>(all.blocks.rectangleAt(at)), valley, 1), most, 1e-5 * most);
  }
  EXPECT_GT(found, 50);
}

/// Raises the valley at hand, or a part of it, here and in an array.
void raiseSome(Random &random, LevelFloors &floors, std::vector<int64_t> &plain) {
  LevelFloors::Run run = floors.valley();
  int first = run.start, last = run.end;
  int64_t top = floors.wall();
  if (draw(random, 0, 3) == 0 && top < INT64_MAX) {
    floors.raise(top);
  } else {
    first = static_cast<int>(draw(random, run.start, run.end - 1));
    last = static_cast<int>(draw(random, first + 1, run.end));
    floors.raise(first, last, top = run.floor + draw(random, 1, 60));
  }
  std::fill(plain.begin() + first, plain.begin() + last, top);
}

/// Against floors in an array: a valley is one, it is whole, and below the level; none is left out.
TEST(LevelFloors, GoToEveryValleyBelowALevel) {
  constexpr int64_t level = 100;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    LevelFloors floors(kHorizon);
    std::vector<int64_t> plain(kHorizon, 0);
    auto start = seed % 2 == 0 ? 0 : static_cast<int>(draw(random, 0, kHorizon - 1));
    auto end = seed % 2 == 0 ? kHorizon : static_cast<int>(draw(random, start + 1, kHorizon));
    for (floors.goTo(start); floors.toValley(level, end); raiseSome(random, floors, plain)) {
      LevelFloors::Run run = floors.valley();
      int64_t before = run.start == 0 ? INT64_MAX : plain[run.start - 1];
      int64_t behind = run.end == kHorizon ? INT64_MAX : plain[run.end];
      ASSERT_LT(run.floor, level);
      ASSERT_GT(std::min(before, behind), run.floor);
      ASSERT_EQ(floors.wall(), std::min(before, behind));
      ASSERT_EQ(std::count(plain.begin() + run.start, plain.begin() + run.end, run.floor),
                run.end - run.start);
    }
    EXPECT_GE(*std::min_element(plain.begin() + start, plain.begin() + end), level);
  }
}

TEST(LevelFloors, GoToTheLowestOfAStretch) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    LevelFloors floors(kHorizon);
    std::vector<int64_t> plain(kHorizon, 0);
    floors.goTo(0);
    for (int round = 0; round < 40 && floors.toValley(200, kHorizon); ++round)
      raiseSome(random, floors, plain);
    auto start = static_cast<int>(draw(random, 0, kHorizon - 1));
    auto end = static_cast<int>(draw(random, start, kHorizon));
    int64_t level = draw(random, 1, 200);
    int64_t lowest = start == end ? level : *std::min_element(plain.begin() + start, plain.begin() + end);
    ASSERT_EQ(floors.toLowest(start, end, level, false), lowest < level) << seed;
    if (lowest >= level)
      continue;
    ASSERT_EQ(floors.valley().floor, lowest);
    ASSERT_TRUE(floors.valley().start < end && start < floors.valley().end);
    ASSERT_TRUE(floors.toLowest(start, end, level));
    ASSERT_LE(floors.valley().floor, lowest);
    ASSERT_GT(floors.wall(), floors.valley().floor);
  }
}

} // namespace
