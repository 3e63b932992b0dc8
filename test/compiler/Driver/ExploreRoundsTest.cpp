// SPDX-License-Identifier: Apache-2.0
#include "compiler/Driver/ExploreRounds.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

using namespace accum::driver;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {

/// A machine that takes what it is told: by size the seconds of each turn, the last one again and again.
struct Machine {
  std::map<int64_t, std::vector<std::vector<double>>> turns = {};
  std::vector<int64_t> order = {};

  std::vector<double> operator()(const ExploredSize &size) {
    order.push_back(size.m);
    auto &left = turns.at(size.m);
    std::vector<double> now = left.front();
    if (left.size() > 1)
      left.erase(left.begin());
    return now;
  }
};

std::vector<ExploredSize> sizes(const std::map<int64_t, double> &predicted) {
  std::vector<ExploredSize> all;
  for (auto [m, seconds] : predicted)
    all.push_back({.m = m, .predicted = seconds});
  return all;
}

int64_t chosen(const std::vector<ExploredSize> &all) {
  int64_t found = 0;
  for (const ExploredSize &size : all)
    if (size.chosen)
      found = found == 0 ? size.m : -1;
  return found;
}

TEST(ExploreRounds, TheLowerQuartileIsUndisturbed) {
  EXPECT_DOUBLE_EQ(undisturbed({3}), 3);
  EXPECT_DOUBLE_EQ(undisturbed({5, 3}), 3);
  EXPECT_DOUBLE_EQ(undisturbed({1, 9, 2, 8, 3}), 2);
  EXPECT_DOUBLE_EQ(undisturbed({1.0, 1.01, 1.02, 14, 15, 16}), 1.01);
  EXPECT_DOUBLE_EQ(scatter({2}), 0);
  EXPECT_DOUBLE_EQ(scatter({2, 2.5}), 0.25);
  EXPECT_DOUBLE_EQ(scatter({1, 2, 2, 3, 9}), 0.5);
}

TEST(ExploreRounds, ATurnHasStepsEnough) {
  EXPECT_EQ(turnSteps({.predicted = 1e-4}), 21);
  EXPECT_EQ(turnSteps({.predicted = 0}), 21);
  EXPECT_EQ(turnSteps({.predicted = 0.01}), 6);
  EXPECT_EQ(turnSteps({.predicted = 0.3}), 3);
  EXPECT_EQ(turnSteps({.predicted = 5}), 3);
  EXPECT_EQ(turnSteps({.predicted = 20}), 2);
  EXPECT_EQ(turnSteps({.predicted = 1e-4, .measured = 0.3}), 3) << "a machine that is busy with other things";
  EXPECT_EQ(turnSteps({.predicted = 20, .measured = 0.01}), 6);
}

TEST(ExploreRounds, ThereAndBack) {
  Machine machine{{{1, {{1.2, 1.2}}}, {2, {{1.0, 1.0}}}, {4, {{1.1, 1.1}}}}};
  auto all = sizes({{1, 1.2}, {2, 1.0}, {4, 1.1}});
  EXPECT_EQ(timeInTurns(all, machine), nullptr);
  EXPECT_THAT(machine.order, ElementsAre(1, 2, 4, 4, 2, 1, 1, 2, 4));
  EXPECT_EQ(chosen(all), 2);
  EXPECT_EQ(all[0].steps, 6);
  EXPECT_DOUBLE_EQ(all[0].measured, 1.2);
}

TEST(ExploreRounds, ABurstDoesNotDecide) {
  // The best size meets a neighbour in two of three turns, and is fastest all the same.
  Machine machine{{{1, {{0.075, 0.075}}}, {2, {{1.0, 1.1}, {0.07, 0.07}, {0.9, 1.2}, {0.07, 0.07}}}}};
  auto all = sizes({{1, 0.075}, {2, 0.07}});
  EXPECT_EQ(timeInTurns(all, machine), nullptr);
  EXPECT_EQ(chosen(all), 2);
  EXPECT_DOUBLE_EQ(all[1].measured, 0.07);
}

TEST(ExploreRounds, WhatStandsFarAboveItsPredictionIsTimedAgain) {
  // All its steps of the first rounds were slow alike; the others were as predicted.
  std::vector<double> slow(2, 1.009), fast(2, 0.06), other(2, 0.07);
  Machine machine{{{1, {other}}, {2, {slow, slow, slow, fast}}, {4, {other}}}};
  auto all = sizes({{1, 0.07}, {2, 0.06}, {4, 0.07}});
  EXPECT_EQ(timeInTurns(all, machine), nullptr);
  EXPECT_EQ(chosen(all), 2);
  EXPECT_DOUBLE_EQ(all[1].measured, 0.06);
  EXPECT_EQ(all[1].steps, 12);
  EXPECT_EQ(all[2].steps, 6);
}

TEST(ExploreRounds, AMachineHalfAsFastAsPredictedIsNoDisturbance) {
  Machine machine{{{1, {{2.2, 2.2}}}, {2, {{2.0, 2.1}}}}};
  auto all = sizes({{1, 1.1}, {2, 1.0}});
  EXPECT_EQ(timeInTurns(all, machine), nullptr);
  EXPECT_EQ(machine.order.size(), 6U);
}

TEST(ExploreRounds, RepeatingEnds) {
  Machine machine{{{1, {{1, 3}}}, {2, {{1.5, 4}}}}};
  auto all = sizes({{1, 1}, {2, 1}});
  EXPECT_EQ(timeInTurns(all, machine), nullptr);
  EXPECT_EQ(machine.order.size(), size_t{2} * (kExploreRounds + kMoreRounds));
}

TEST(ExploreRounds, AProgramThatDoesNotRun) {
  Machine machine{{{1, {{1, 1}}}, {2, {{}}}}};
  auto all = sizes({{1, 1}, {2, 1}});
  const ExploredSize *failed = timeInTurns(all, machine);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->m, 2);
}

TEST(ExploreRounds, TheReportSaysHowFarTheyScatter) {
  std::vector<ExploredSize> all = {{8, 0.070, 0.072, 0.02, 6, true}, {16, 0.068, 0.075, 0.04, 6, false}};
  std::string text = describeExplored(all, 5);
  EXPECT_THAT(text, HasSubstr("explore  2 of 5 sizes timed here, in turns\n"));
  EXPECT_THAT(text,
              HasSubstr("micro-batch     8:      70.0 ms per step predicted,      72.0 measured (-2.8 %), "
                        "6 steps within 2 %   chosen\n"));
  EXPECT_THAT(text, Not(HasSubstr("apart")));
  all[1].scatter = 0.38;
  EXPECT_THAT(describeExplored(all, 5), HasSubstr("steps of one size lie up to 38 % apart"));
  all[0].scatter = 8.2;
  EXPECT_THAT(describeExplored(all, 5), HasSubstr("steps of one size lie up to a factor of 9 apart"));
}

TEST(ExploreRounds, TheReason) {
  EXPECT_EQ(whyExplored({{8}, {16}}, 5), "the fastest of 2 sizes timed here, of 5");
  EXPECT_EQ(whyExplored({{8}}, 5), "the only one of 5 sizes that fits");
  EXPECT_EQ(whyExplored({{8}}, 1), "");
  EXPECT_EQ(whyExplored({}, 0), "");
}

} // namespace
