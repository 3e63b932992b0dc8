// SPDX-License-Identifier: Apache-2.0
// Which alternatives are kept, and that searches share them.
#include "compiler/Planner/Search/Alternatives.h"
#include "compiler/Planner/Search/ParetoFront.h"
#include "compiler/Planner/Search/Solve.h"
#include "test/compiler/Planner/RandomProblem.h"
#include "test/compiler/Planner/TransformerProblem.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace accum::planner;

namespace {

/// Variants alone are searched, and more of them than are all looked at.
TEST(Alternatives, RecomputeNothingWhereNothingMayRunAgain) {
  Random random(15);
  for (int round = 0; round < 20; ++round) {
    Problem problem = randomStep(random, 12, 6, 10);
    TimeModel times{problem, *loadProfile("h100"), 1};
    Alternatives found = findAlternatives(problem, times, 1, 8, /*recompute=*/false, {.exact = 1});
    EXPECT_GT(found.list.size(), 1u);
    for (const Alternative &each : found.list)
      EXPECT_EQ(each.recomputed, 0) << "round " << round;
  }
}

constexpr int64_t kLargest = 8;

class Found : public testing::Test {
protected:
  Problem problem =
      transformerProblem({.layers = 6, .hidden = 2048, .heads = 16, .sequence = 1024, .vocabulary = 32000});
  DeviceProfile profile = *loadProfile("h100");
  TimeModel times{problem, profile, 1};
  Alternatives found = findAlternatives(problem, times, 1, kLargest, true);
};

/// Whether nothing before it, by time, peak and place in the list, is as low at that size.
std::vector<char> bestAt(const Alternatives &found, const TimeModel &times, int64_t m) {
  std::vector<double> added = found.addedSeconds(times, m);
  auto key = [&](size_t index) { return std::tuple(added[index], found.list[index].peak.at(m), index); };
  std::vector<char> best(added.size(), 1);
  for (size_t index = 0; index < best.size(); ++index) {
    for (size_t other = 0; other < best.size(); ++other)
      if (key(other) < key(index) && found.list[other].peak.at(m) <= found.list[index].peak.at(m))
        best[index] = 0;
  }
  return best;
}

TEST_F(Found, WhatIsBestSomewhereIsKeptAndNothingElse) {
  ASSERT_GT(found.list.size(), 64U);
  std::mt19937_64 random(7);
  Alternatives shuffled = found; // with peaks that have nothing to do with their times, some of them equal
  for (Alternative &each : shuffled.list)
    each.peak.lines = {{static_cast<int64_t>(random() % 64) << 30, static_cast<int64_t>(random() % 8) << 28}};
  std::vector<char> wanted(shuffled.list.size(), 0);
  wanted[0] = 1;
  for (int64_t m = 1; m <= kLargest; m *= 2) {
    std::vector<char> best = bestAt(shuffled, times, m);
    for (size_t index = 0; index < best.size(); ++index)
      wanted[index] = static_cast<char>(wanted[index] | best[index]);
  }
  std::vector<Alternative> kept;
  for (size_t index = 0; index < wanted.size(); ++index)
    if (wanted[index] != 0)
      kept.push_back(shuffled.list[index]);
  shuffled.keepUseful(times, 1, kLargest, 0);
  ASSERT_EQ(shuffled.list.size(), kept.size());
  for (size_t index = 0; index < kept.size(); ++index)
    EXPECT_EQ(shuffled.list[index].choice, kept[index].choice) << index;
}

TEST_F(Found, OnceForAllThatAskAlike) {
  AlternativeCache known;
  auto first = known.find(problem, times, 1, 1, kLargest, true, {});
  EXPECT_EQ(first, known.find(problem, times, 1, 1, kLargest, true, {}));
  EXPECT_NE(first, known.find(problem, times, 2, 1, kLargest, true, {}));
  EXPECT_NE(first, known.find(problem, times, 1, 1, kLargest / 2, true, {}));
  EXPECT_NE(first, known.find(problem, times, 1, 2, kLargest, true, {}));
  EXPECT_NE(first, known.find(problem, times, 1, 1, kLargest, false, {}));
  EXPECT_EQ(first->list.size(), found.list.size());
}

TEST_F(Found, SearchesThatShareThemChooseTheSame) {
  AlternativeCache known;
  for (const char *shard : {"none", "auto"})
    for (const char *offload : {"none", "auto"})
      for (int64_t gibibytes : {4, 12, 40, 80}) {
        Options options{
            .batch = 64, .devices = 8, .budget = gibibytes << 30, .shard = shard, .offload = offload};
        Search alone = *solve(problem, profile, options);
        options.known = &known;
        Search sharing = *solve(problem, profile, options);
        ASSERT_EQ(alone.plan.has_value(), sharing.plan.has_value());
        if (!alone.plan)
          continue;
        EXPECT_EQ(alone.plan->cut, sharing.plan->cut);
        EXPECT_EQ(alone.plan->recompute, sharing.plan->recompute);
        EXPECT_EQ(alone.plan->slots, sharing.plan->slots);
      }
}

} // namespace
