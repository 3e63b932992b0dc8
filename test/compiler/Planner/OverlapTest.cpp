// SPDX-License-Identifier: Apache-2.0
// Gradients summed over the devices beside the last micro-step: by hand, and against events one by one.
#include "compiler/Planner/Problem/ProblemText.h"
#include "compiler/Planner/Search/Solve.h"
#include "compiler/Planner/Time/GradientBuckets.h"
#include "compiler/Planner/Time/TimeModel.h"
#include "compiler/Planner/Verify/Verify.h"
#include "compiler/Report/Explain.h"
#include "compiler/Report/Page.h"
#include "test/compiler/Planner/RandomProblem.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace accum::planner;
using testing::HasSubstr;

namespace {

/// Seconds are bytes moved: one byte a second everywhere, no latency.
DeviceProfile slow() {
  return {.name = "slow",
          .basis = "estimated",
          .memoryUsable = 1 << 20,
          .alignment = 1,
          .rates = {{true, "f32", 1, 1}, {false, "f32", 1, 1}},
          .bandwidth = 1,
          .linkBandwidth = 1,
          .overlapsSums = true};
}

/// Forward 10 s; backward three commands of 4, 3 and 2 s behind which 40, 20 and 40 of 100 bytes are final.
Problem someStep() {
  Problem problem;
  auto add = [&](int64_t seconds, int64_t gradients, bool backward) {
    Command command{.id = int64_t(10 + problem.commands.size()), .backward = backward};
    command.variants[0].bytes = {seconds};
    if (gradients > 0)
      problem.parameters.push_back({gradients, command.id, "w"});
    problem.commands.push_back(command);
  };
  add(10, 0, false);
  add(4, 40, true);
  add(3, 20, true);
  add(2, 40, true);
  problem.allReduceBytes = 100;
  return problem;
}

const Cut kCut{.m = 1, .steps = 3, .last = 1};

TEST(Overlap, ByHand) {
  Problem problem = someStep();
  DeviceProfile profile = slow();
  // Two devices send 2 * 1/2 of each byte: 40 from 14 s on, then 20 and 40: done at 114, backward at 19.
  auto overlap = TimeModel(problem, profile, 2).overlapOf(kCut);
  ASSERT_TRUE(overlap);
  EXPECT_DOUBLE_EQ(overlap->seconds, 100);
  EXPECT_DOUBLE_EQ(overlap->exposed, 95);
  // A link so fast that only what the last command makes final is waited for.
  profile.linkBandwidth = 100;
  overlap = TimeModel(problem, profile, 2).overlapOf(kCut);
  EXPECT_DOUBLE_EQ(overlap->seconds, 1);
  EXPECT_NEAR(overlap->exposed, 0.4, 1e-12);
  // Gradients that no command of the step contributes to are summed behind it; of 200 bytes, 20 are no run.
  problem.parameters.push_back({100, -1, "unused"});
  problem.allReduceBytes = 200;
  overlap = TimeModel(problem, profile, 2).overlapOf(kCut);
  EXPECT_DOUBLE_EQ(overlap->seconds, 2);
  EXPECT_NEAR(overlap->exposed, 1.6, 1e-12);
}

TEST(Overlap, OnlyWhereTheTargetDoesAndSomebodySaysWhenGradientsAreFinal) {
  Problem problem = someStep();
  DeviceProfile profile = slow();
  EXPECT_FALSE(TimeModel(problem, profile, 1).overlapOf(kCut));
  profile.overlapsSums = false;
  EXPECT_FALSE(TimeModel(problem, profile, 2).overlapOf(kCut));
  problem.parameters.clear();
  EXPECT_FALSE(TimeModel(problem, slow(), 2).overlapOf(kCut));
}

TEST(Overlap, MeetsALinkThatTakesOneRunAtATimeAndItsBounds) {
  Random random(91);
  int hidden = 0;
  for (int round = 0; round < 500; ++round) {
    Problem problem;
    std::vector<double> ends;
    std::vector<int64_t> bytes;
    std::vector<size_t> after;
    double now = 0;
    for (int64_t id = 0, count = draw(random, 2, 30); id < count; ++id) {
      Command command{.id = id, .backward = id > 0};
      command.variants[0].bytes = {0, draw(random, 1, 40), {}};
      now += double(command.variants[0].bytes.at(2));
      ends.push_back(now);
      if (draw(random, 0, 1) == 1) {
        bytes.push_back(draw(random, 1, 120));
        after.push_back(size_t(id));
        problem.parameters.push_back({bytes.back(), id, "w"});
        problem.allReduceBytes += bytes.back();
      }
      problem.commands.push_back(command);
    }
    if (problem.parameters.empty())
      continue;
    DeviceProfile profile = slow();
    profile.linkBandwidth = double(draw(random, 1, 10));
    auto overlap = *TimeModel(problem, profile, 4).overlapOf({2, 5, 2});
    double factor = 2 * 0.75 / profile.linkBandwidth, all = double(problem.allReduceBytes), free = 0,
           sent = 0;
    std::vector<GradientBucket> runs = gradientBuckets(bytes, after, ends.size() - 1);
    for (const GradientBucket &run : runs) {
      while (free < ends[run.after]) // nothing to send yet
        free = ends[run.after];
      free += factor * double(run.bytes);
      sent += double(run.bytes);
    }
    double done = std::max(free, now) + factor * (all - sent);
    ASSERT_NEAR(overlap.seconds, factor * all, 1e-9 * all);
    ASSERT_NEAR(overlap.exposed, sent == all ? std::max(0.0, free - now) : done - now, 1e-9 * all) << round;
    ASSERT_LE(overlap.exposed, overlap.seconds * (1 + 1e-12));
    double beside =
        runs.empty() ? 0 : now - ends[runs.front().after]; // work left once the first run is final
    ASSERT_GE(overlap.exposed, overlap.seconds - beside - 1e-9 * all);
    hidden += overlap.exposed < overlap.seconds ? 1 : 0;
  }
  EXPECT_GT(hidden, 100);
}

TEST(Overlap, IsWhatThePlanSaysAndWhatWasSearched) {
  Problem problem = someStep();
  problem.name = "step";
  problem.fixed = {{FixedKind::State, "weights", {100}, StateRole::Parameters},
                   {FixedKind::State, "gradients", {100}, StateRole::Gradients}};
  problem.commands.push_back({.id = 9, .phase = usual::kUpdate});
  DeviceProfile profile = slow();
  Options options{.batch = 6, .devices = 2};
  auto search = solve(problem, profile, options);
  ASSERT_TRUE(search && search->plan);
  const Plan &plan = *search->plan;
  auto line = std::ranges::find(plan.time, "all-reduce", &TimeLine::name);
  ASSERT_NE(line, plan.time.end());
  EXPECT_DOUBLE_EQ(line->seconds, 95);
  EXPECT_DOUBLE_EQ(line->hidden, 5);
  for (const Candidate &candidate : plan.candidates)
    if (candidate.verdict == Verdict::Chosen)
      EXPECT_DOUBLE_EQ(candidate.seconds, plan.seconds());
  EXPECT_THAT(explainPlan(*search), HasSubstr("all-reduce 100.0 s, 95.0 s exposed"));
  auto again = parseProblem(toText(problem), "step.txt");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(toText(*again), toText(problem));
  EXPECT_DOUBLE_EQ(TimeModel(*again, profile, 2).overlapOf(kCut)->exposed, 95);
  std::string json = toJson(plan);
  auto read = parsePlan(json, "plan.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(toJson(*read), json);
  EXPECT_TRUE(verify(problem, *read));
  auto page = report::writePage(problem, profile, options, *search, {});
  ASSERT_TRUE(page);
  EXPECT_THAT(*page, HasSubstr("all-reduce: 100.0 s, 95.0 s of it exposed"));
  EXPECT_THAT(*page, HasSubstr("5000 ms more beside the last micro-step"));
  profile.overlapsSums = false;
  auto apart = solve(problem, profile, options);
  EXPECT_NEAR(apart->plan->seconds() - plan.seconds(), 5, 1e-9) << "without, all of it is waited for";
}

} // namespace
