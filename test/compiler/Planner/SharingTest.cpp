// SPDX-License-Identifier: Apache-2.0
// Sharding and offload: bytes and seconds by hand, the joint search against each way alone, the checker.
#include "compiler/Planner/Sharing.h"
#include "compiler/Planner/Explain.h"
#include "compiler/Planner/Solve.h"
#include "compiler/Planner/Verify.h"
#include "test/compiler/Planner/RandomProblem.h"
#include "test/compiler/Planner/TransformerProblem.h"
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

using namespace accum::planner;
using testing::HasSubstr;

namespace {

DeviceProfile h100() { return *loadProfile("h100"); }

/// 1,000 bytes of weights, as much of gradients, twice of moments; one command.
Problem small() {
  Problem problem;
  problem.commands = {Command{.id = 0}, Command{.id = 1, .region = Region::Update}};
  problem.fixed = {{FixedKind::State, "weights", {1000, 0, {}}, StateRole::Parameters},
                   {FixedKind::State, "gradients", {1000, 0, {}}, StateRole::Gradients},
                   {FixedKind::State, "moments", {2000, 0, {}}, StateRole::Optimizer},
                   {FixedKind::Inputs, "inputs", {0, 8, {}}}};
  problem.allReduceBytes = 1000;
  problem.largestParameter = 100;
  return problem;
}

std::vector<int64_t> bytesOf(const std::vector<FixedMemory> &lines) {
  std::vector<int64_t> bytes;
  for (const FixedMemory &line : lines)
    bytes.push_back(line.bytes.at(3));
  return bytes;
}

TEST(Sharing, HoldsTheParts) {
  Problem problem = small();
  auto held = [&](Sharing sharing, int64_t devices) {
    return bytesOf(sharedMemory(problem, sharing, devices));
  };
  using testing::ElementsAre;
  EXPECT_THAT(held({}, 4), ElementsAre(1000, 1000, 2000, 24));
  EXPECT_THAT(held({Shard::Optimizer}, 4), ElementsAre(1000, 1000, 512, 24));
  EXPECT_THAT(held({Shard::Gradients}, 4), ElementsAre(1000, 1000, 512, 24));
  EXPECT_THAT(held({Shard::Gradients, Offload::None, true}, 4), ElementsAre(1000, 256, 512, 24, 256));
  EXPECT_THAT(held({Shard::Parameters, Offload::None, true}, 4), ElementsAre(256, 256, 512, 24, 256, 256));
  EXPECT_THAT(held({Shard::None, Offload::Optimizer}, 4), ElementsAre(1000, 1000, 24, 512));
  EXPECT_THAT(held({Shard::None, Offload::Parameters}, 4), ElementsAre(1000, 24, 768));
  EXPECT_THAT(held({Shard::Parameters, Offload::None, true}, 1), ElementsAre(1000, 1000, 2000, 24));
}

double total(const std::vector<TimeLine> &lines) {
  double sum = 0;
  for (const TimeLine &line : lines)
    sum += line.seconds;
  return sum;
}

TEST(Sharing, MovesWhatTheFormulasSay) {
  Problem problem = small();
  DeviceProfile profile = h100();
  profile.linkBandwidth = 1000;
  profile.linkLatency = 0;
  profile.hostLinkBandwidth = 500;
  auto seconds = [&](Sharing sharing) { return total(sharingTime(problem, profile, sharing, 4, 8, 4.0)); };
  EXPECT_DOUBLE_EQ(seconds({}), 1.5 + 4);
  EXPECT_DOUBLE_EQ(seconds({Shard::Optimizer}), 0.75 + 0.75 + 1);
  EXPECT_DOUBLE_EQ(seconds({Shard::Gradients, Offload::None, true}), 8 * 0.75 + 0.75 + 1);
  EXPECT_DOUBLE_EQ(seconds({Shard::Parameters, Offload::None, true}), 8 * 0.75 + 2 * 8 * 0.75 + 1);
  EXPECT_DOUBLE_EQ(seconds({Shard::None, Offload::Optimizer}), 1.5 + 4 + 2 * 2000 / 500.0);
  EXPECT_DOUBLE_EQ(seconds({Shard::None, Offload::Parameters}), 1.5 + 4 + (2 * 2000 + 17 * 1000) / 500.0);
}

Search planned(const std::string &shard, const std::string &offload, int64_t budget) {
  Problem problem = transformerProblem({.layers = 4, .hidden = 2048, .heads = 16, .sequence = 512});
  Options options{.batch = 256, .devices = 8, .budget = budget, .shard = shard, .offload = offload};
  Search search = *solve(problem, h100(), options);
  if (search.plan) {
    Status status = verify(problem, *search.plan);
    EXPECT_TRUE(status) << status.error().message;
  }
  return search;
}

/// The joint choice is the best of the ways alone, and budgets are monotone.
TEST(Sharing, IsChosenWithEverythingElse) {
  std::set<std::string> chosen;
  double before = 1e30;
  for (int64_t budget = int64_t{1} << 29; budget <= int64_t{64} << 30; budget = budget * 5 / 4) {
    Search together = planned("auto", "auto", budget);
    double best = 1e30;
    for (const char *shard : {"none", "zero1", "zero2", "zero3"})
      for (const char *offload : {"none", "optimizer", "parameters"})
        if (Search alone = planned(shard, offload, budget); alone.plan)
          best = std::min(best, alone.plan->seconds());
    ASSERT_EQ(together.plan.has_value(), best < 1e30);
    if (!together.plan)
      continue;
    EXPECT_NEAR(together.plan->seconds(), best, 1e-9 * best);
    EXPECT_LE(together.plan->seconds(), before * (1 + 1e-12));
    before = together.plan->seconds();
    chosen.insert(together.plan->shard + " " + together.plan->reduce + " " + together.plan->offload);
  }
  EXPECT_GE(chosen.size(), 3u);
}

TEST(Sharing, ReducesOnceWhereWholeGradientsFit) {
  Search none = planned("zero2", "none", 1 << 20), plenty = planned("zero2", "none", int64_t{64} << 30);
  Search tight = planned("zero2", "none", none.candidates[none.smallest].counted);
  ASSERT_TRUE(plenty.plan && tight.plan);
  EXPECT_EQ(plenty.plan->reduce, "once");
  EXPECT_EQ(tight.plan->reduce, "each");
  EXPECT_THAT(explainPlan(plenty), HasSubstr("zero2, gradients reduced once per step\n"));
  EXPECT_THAT(explainPlan(tight), HasSubstr("zero2, gradients reduced and scattered in each micro-step\n"));
  EXPECT_THAT(explainPlan(tight), HasSubstr("gradients f32 / 8"));
}

TEST(Sharing, RefusesWhatItDoesNotKnow) {
  Problem problem = small();
  DeviceProfile profile = h100();
  auto error = [&](const char *shard, const char *offload) {
    Result<Search> search =
        solve(problem, profile, {.batch = 8, .devices = 4, .shard = shard, .offload = offload});
    return search ? std::string() : search.error().message + " [" + search.error().slug + "]";
  };
  EXPECT_EQ(error("zero4", "none"), "--shard is `zero4`, expected auto, none, zero1, zero2 or zero3 [usage]");
  EXPECT_EQ(error("none", "all"), "--offload is `all`, expected auto, none, optimizer or parameters [usage]");
  EXPECT_EQ(error("zero3", "optimizer"), "");
  profile.hostLinkBandwidth = 0;
  EXPECT_EQ(error("none", "optimizer"),
            "--offload optimizer: target h100 has no link to memory of its host [usage]");
  EXPECT_EQ(error("auto", "auto"), "");
}

TEST(Sharing, TheCheckerCountsForItself) {
  Problem problem = small();
  Plan plan = *solve(problem, h100(), {.batch = 8, .devices = 4, .shard = "zero3"})->plan;
  ASSERT_TRUE(verify(problem, plan));
  Plan bad = plan;
  bad.shard = "zero1";
  EXPECT_FALSE(verify(problem, bad));
  bad = plan;
  bad.offload = "moon";
  EXPECT_FALSE(verify(problem, bad));
  bad = plan;
  std::erase_if(bad.memory, [](const MemoryLine &line) { return line.name == "gathered weights"; });
  bad.state -= 256;
  EXPECT_THAT(verify(problem, bad).error().message, HasSubstr("weights that are gathered"));
}

} // namespace
