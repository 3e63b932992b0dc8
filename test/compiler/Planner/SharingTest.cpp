// SPDX-License-Identifier: Apache-2.0
// Sharding and offload: bytes and seconds by hand, the joint search against each way alone, the checker.
#include "compiler/Planner/Sharing/Sharing.h"
#include "compiler/Planner/Search/Solve.h"
#include "compiler/Planner/Verify/Verify.h"
#include "compiler/Report/Explain.h"
#include "test/compiler/Planner/RandomProblem.h"
#include "test/compiler/Planner/TransformerProblem.h"
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

using namespace accum::planner;
using accum::Offload;
using accum::Shard;
using accum::Sharing;
using testing::HasSubstr;

namespace {

/// 1,000 bytes of weights, as much of gradients, twice of moments; one command.
Problem small() {
  Problem problem;
  problem.commands = {Command{.id = 0}, Command{.id = 1, .phase = usual::kUpdate}};
  problem.fixed = {{FixedKind::State, "weights", {1000, 0, {}}, StateRole::Parameters},
                   {FixedKind::State, "gradients", {1000, 0, {}}, StateRole::Gradients},
                   {FixedKind::State, "moments", {2000, 0, {}}, StateRole::Optimizer},
                   {FixedKind::Inputs, "inputs", {0, 8, {}}}};
  problem.allReduceBytes = 1000;
  problem.largestParameter = 100;
  return problem;
}

std::vector<FixedMemory> linesOf(const Problem &problem, const Sharing &sharing, int64_t devices) {
  return sharedMemory(problem, sharing, devices, unitMemory(problem, sharing, devices));
}

std::vector<int64_t> bytesOf(const std::vector<FixedMemory> &lines) {
  std::vector<int64_t> bytes;
  for (const FixedMemory &line : lines)
    bytes.push_back(line.bytes.at(3));
  return bytes;
}

TEST(Sharing, HoldsTheParts) {
  Problem problem = small();
  auto held = [&](Sharing sharing, int64_t devices) { return bytesOf(linesOf(problem, sharing, devices)); };
  using testing::ElementsAre;
  EXPECT_THAT(held({}, 4), ElementsAre(1000, 1000, 2000, 24));
  EXPECT_THAT(held({Shard::Optimizer}, 4), ElementsAre(1000, 1000, 512, 24));
  EXPECT_THAT(held({Shard::Gradients}, 4), ElementsAre(1000, 1000, 512, 24));
  EXPECT_THAT(held({Shard::Gradients, Offload::None, true}, 4), ElementsAre(1000, 256, 512, 24, 256));
  EXPECT_THAT(held({Shard::Parameters, Offload::None, true}, 4), ElementsAre(256, 256, 512, 24, 256, 256));
  EXPECT_THAT(held({Shard::None, Offload::Optimizer}, 4), ElementsAre(1000, 1000, 24, 1024));
  EXPECT_THAT(held({Shard::None, Offload::Parameters}, 4), ElementsAre(1000, 24, 256, 1536));
  EXPECT_THAT(held({Shard::Parameters, Offload::None, true}, 1), ElementsAre(1000, 1000, 2000, 24));
}

/// A frozen matrix has no gradient and no moments: it is in parts, or off the device with the other
/// parameters.
TEST(Sharing, FrozenMatricesGoWhereParametersGo) {
  Problem problem = small();
  problem.fixed.push_back({FixedKind::State, "frozen", {8192, 0, {}}, StateRole::Frozen});
  problem.frozen = {{.bytes = 8192, .readers = {0}}};
  auto held = [&](Sharing sharing, int64_t devices) { return bytesOf(linesOf(problem, sharing, devices)); };
  using testing::ElementsAre;
  EXPECT_THAT(held({Shard::None, Offload::Optimizer}, 1), ElementsAre(1000, 1000, 24, 8192, 1024));
  EXPECT_THAT(held({Shard::None, Offload::Parameters}, 1), ElementsAre(1000, 24, 256, 1536));
  EXPECT_THAT(held({Shard::Parameters}, 2), ElementsAre(512, 1000, 1024, 24, 4096, 256));
  EXPECT_EQ(hostStateBytes(problem, {Shard::None, Offload::Parameters}, 1), 1024 + 2048 + 8192);
  EXPECT_EQ(hostStateBytes(problem, {Shard::Parameters, Offload::Parameters}, 2), 512 + 1024 + 4096);
}

/// Sums are made before anybody has refused such sizes.
TEST(Sharing, SumsOfAbsurdSizesSaturate) {
  Problem problem = small();
  problem.fixed[0].bytes = {0, 0, {}};
  problem.largestParameter = kAmountLimit;
  std::vector<FixedMemory> lines = linesOf(problem, {Shard::None, Offload::Optimizer}, 1);
  EXPECT_EQ(lines.back().name, kStagedLine);
  EXPECT_EQ(lines.back().bytes.fixed, 2048) << "no more than all";
  problem.fixed.insert(problem.fixed.end(), 20,
                       {FixedKind::State, "x", {kAmountLimit, 0, {}}, StateRole::Optimizer});
  EXPECT_EQ(hostStateBytes(problem, {Shard::None, Offload::Optimizer}, 1), kAmountLimit + 1);
  lines = linesOf(problem, {Shard::None, Offload::Optimizer}, 1);
  EXPECT_GE(lines.back().bytes.fixed, kAmountLimit);
}

double total(const std::vector<TimeLine> &lines) {
  double sum = 0;
  for (const TimeLine &line : lines)
    sum += line.seconds;
  return sum;
}

/// 500 bytes of the weights are copied into 250, which are spread as the weights are, and stay on the device.
TEST(Sharing, SpreadsCopiesOfWeights) {
  Problem problem = small();
  problem.commands.insert(problem.commands.begin(), Command{.id = 7, .phase = usual::kPrologue});
  problem.buffers = {
      Buffer{.id = "7:0", .bytes = {250, 0, {}}, .producer = 0, .users = {1}, .wholeStep = true},
      Buffer{.id = "0:0", .bytes = {0, 8, {}}, .producer = 1}};
  problem.buffers[0].role = StateRole::Parameters;
  problem.weightReads = 750;
  ASSERT_TRUE(check(problem));
  EXPECT_EQ(copiedBytes(problem), 250);
  auto copy = [&](Sharing sharing, int64_t devices) {
    Problem held = sharedProblem(problem, sharing, devices);
    EXPECT_EQ(held.buffers[1].bytes, problem.buffers[1].bytes);
    return held.buffers[0].bytes.at(3);
  };
  problem.buffers[0].bytes.fixed = 2500; // a part is a multiple of 256
  EXPECT_EQ(copy({}, 4), 2500);
  EXPECT_EQ(copy({Shard::Gradients, Offload::Optimizer, true}, 4), 2500);
  EXPECT_EQ(copy({Shard::Parameters}, 4), 0) << "its part is in the state";
  EXPECT_THAT(bytesOf(linesOf(problem, {Shard::Parameters, Offload::None, true}, 4)),
              testing::ElementsAre(256, 256, 512, 24, 768, 256, 256));
  EXPECT_EQ(copy({Shard::Parameters}, 1), 2500);
  EXPECT_EQ(copy({Shard::Parameters, Offload::Parameters}, 4), 0);
  EXPECT_EQ(copy({Shard::None, Offload::Parameters}, 1), 2500);
  problem.buffers[0].bytes.fixed = 250;
  DeviceProfile profile = h100();
  profile.linkBandwidth = 1000;
  profile.linkLatency = 0;
  profile.hostLinkBandwidth = 500;
  auto seconds = [&](Sharing sharing) {
    return total(sharingTime(problem, profile, sharing, 4, 8, 4.0, copiedBytes(problem)));
  };
  EXPECT_DOUBLE_EQ(seconds({Shard::Optimizer}), 0.75 + 0.75 + 1);
  // In each half of a micro-step what it reads: 750, of 4 devices 3/4.
  EXPECT_DOUBLE_EQ(seconds({Shard::Parameters, Offload::None, true}), 8 * 0.75 + 2 * 8 * 0.75 * 0.75 + 1);
  // In each half the 500 that are read as they are; weights come once to be copied, and come and go for the
  // update; moments beside it.
  EXPECT_DOUBLE_EQ(seconds({Shard::None, Offload::Parameters}),
                   1.5 + (2 * 2000 + 16 * 500 + 3 * 1000) / 500.0);
}

/// A device copies its part: an eighth of the time.
TEST(Sharing, CopiesThePartOfADevice) {
  Problem problem = transformerProblem({.layers = 2, .hidden = 1024, .sequence = 128, .copies = true});
  DeviceProfile profile = h100();
  profile.launch = 0;
  auto once = [&](Shard shard) {
    for (const TimeLine &line : TimeModel(problem, profile, 8).step({4, 1, 4}, {shard}))
      if (line.name == "once per step")
        return line.seconds;
    return 0.0;
  };
  EXPECT_NEAR(once(Shard::None), 2 * 12.0 * 1024 * 1024 * 6 / profile.bandwidth, 1e-12);
  EXPECT_DOUBLE_EQ(once(Shard::Gradients), once(Shard::None));
  EXPECT_NEAR(once(Shard::Parameters), once(Shard::None) / 8, 1e-15);
}

/// The optimizer's small state is everywhere, and so is the update, for which units are gathered.
TEST(Sharing, UpdatesWholeTensors) {
  Problem problem = small();
  problem.fixed[2].role = StateRole::Other;
  problem.wholeUpdate = 1;
  using testing::ElementsAre;
  auto held = [&](Sharing sharing, int64_t devices) { return bytesOf(linesOf(problem, sharing, devices)); };
  EXPECT_THAT(held({Shard::Optimizer}, 4), ElementsAre(1000, 1000, 2000, 24));
  EXPECT_THAT(held({Shard::Gradients, Offload::None, true}, 4), ElementsAre(1000, 256, 2000, 24, 256));
  EXPECT_THAT(held({Shard::Parameters, Offload::None, true}, 4), ElementsAre(256, 256, 2000, 24, 256, 256));
  EXPECT_THAT(held({Shard::None, Offload::Parameters}, 1), ElementsAre(1000, 2000, 24, 256))
      << "whole units pass through their place";
  DeviceProfile profile = h100();
  profile.linkBandwidth = 1000;
  profile.linkLatency = 0;
  profile.hostLinkBandwidth = 500;
  auto seconds = [&](Sharing sharing, int64_t devices) {
    return total(sharingTime(problem, profile, sharing, devices, 8, 4.0, copiedBytes(problem)));
  };
  EXPECT_DOUBLE_EQ(seconds({Shard::Optimizer}, 4), 0.75 + 0.75 + 4);
  EXPECT_DOUBLE_EQ(seconds({Shard::Gradients, Offload::None, true}, 4), 8 * 0.75 + 0.75 + 4);
  EXPECT_DOUBLE_EQ(seconds({Shard::Parameters, Offload::None, true}, 4),
                   8 * 0.75 + 2 * 8 * 0.75 + 2 * 0.75 + 4);
  EXPECT_DOUBLE_EQ(seconds({Shard::None, Offload::Parameters}, 1), 4 + 18 * 1000 / 500.0);
}

TEST(Sharing, MovesWhatTheFormulasSay) {
  Problem problem = small();
  DeviceProfile profile = h100();
  profile.linkBandwidth = 1000;
  profile.linkLatency = 0;
  profile.hostLinkBandwidth = 500;
  auto seconds = [&](Sharing sharing) {
    return total(sharingTime(problem, profile, sharing, 4, 8, 4.0, copiedBytes(problem)));
  };
  EXPECT_DOUBLE_EQ(seconds({}), 1.5 + 4);
  EXPECT_DOUBLE_EQ(seconds({Shard::Optimizer}), 0.75 + 0.75 + 1);
  EXPECT_DOUBLE_EQ(seconds({Shard::Gradients, Offload::None, true}), 8 * 0.75 + 0.75 + 1);
  EXPECT_DOUBLE_EQ(seconds({Shard::Parameters, Offload::None, true}), 8 * 0.75 + 2 * 8 * 0.75 + 1);
  EXPECT_DOUBLE_EQ(seconds({Shard::None, Offload::Optimizer}),
                   1.5 + 2 * 2000 / 500.0); // 4 of them beside the update
  EXPECT_DOUBLE_EQ(seconds({Shard::None, Offload::Parameters}), 1.5 + (2 * 2000 + 18 * 1000) / 500.0);
}

Search planned(const std::string &shard, const std::string &offload, int64_t budget, bool copies = false) {
  Problem problem =
      transformerProblem({.layers = 4, .hidden = 2048, .heads = 16, .sequence = 512, .copies = copies});
  Options options{
      .batch = 256, .devices = 8, .budget = budget, .shard = shard, .offload = offload, .prefer = "speed"};
  Search search = *solve(problem, h100(), options);
  if (search.plan) {
    Status status = verify(problem, *search.plan);
    EXPECT_TRUE(status) << status.error().message;
  }
  return search;
}

/// The joint choice is the best of the modes alone with as little offload as fits, and budgets are monotone.
void expectTheBestOfAllModes(bool copies) {
  std::set<std::string> chosen;
  double before = 1e30;
  std::string offloadBefore;
  Search none = planned("auto", "auto", 1 << 20, copies);
  int64_t least = none.candidates[none.smallest].counted;
  for (int64_t budget : {least, 2 * least, 6 * least, int64_t{64} << 30}) {
    Search together = planned("auto", "auto", budget, copies);
    double best = 1e30;
    for (const char *offload : {"none", "optimizer", "parameters"}) {
      if (best < 1e30)
        break; // as little offload as fits
      for (const char *shard : {"none", "zero1", "zero2", "zero3"}) {
        if (std::string(offload) == "parameters" && std::string(shard) != "zero3")
          continue; // refused
        if (Search alone = planned(shard, offload, budget, copies); alone.plan)
          best = std::min(best, alone.plan->seconds());
      }
    }
    ASSERT_EQ(together.plan.has_value(), best < 1e30);
    if (!together.plan)
      continue;
    EXPECT_NEAR(together.plan->seconds(), best, 1e-9 * best);
    if (together.plan->offload == offloadBefore)
      EXPECT_LE(together.plan->seconds(), before * (1 + 1e-12));
    before = together.plan->seconds();
    offloadBefore = together.plan->offload;
    chosen.insert(together.plan->shard + " " + together.plan->reduce + " " + together.plan->offload);
  }
  EXPECT_GE(chosen.size(), 2u);
}

TEST(Sharing, IsChosenWithEverythingElse) { expectTheBestOfAllModes(false); }

TEST(Sharing, IsChosenWithCopiesOfWeights) { expectTheBestOfAllModes(true); }

/// The plan with spread weights needs no scratch for the copies, of which it has parts in the state.
TEST(Sharing, TheStateHoldsThePartOfTheCopies) {
  Search whole = planned("zero2", "none", int64_t{64} << 30, true);
  Search parted = planned("zero3", "none", int64_t{64} << 30, true);
  ASSERT_TRUE(whole.plan && parted.plan);
  const int64_t copy = 12 * 2048 * 2048 * 2;
  auto scratch = [](const Search &search, int64_t m) {
    for (const Candidate &candidate : search.candidates)
      if (candidate.cut.m == m && candidate.recomputed == 0 && candidate.packed)
        return candidate.scratch;
    return int64_t{0};
  };
  ASSERT_GT(scratch(parted, 1), 0);
  EXPECT_EQ(scratch(whole, 1) - scratch(parted, 1), 4 * copy);
  auto line = std::ranges::find(parted.plan->memory, std::string("parts of copies"), &MemoryLine::name);
  ASSERT_NE(line, parted.plan->memory.end());
  EXPECT_EQ(line->bytes, 4 * copy / 8);
  // The checker counts copies by itself: whole ones overlap where none of them has a place.
  Problem problem =
      transformerProblem({.layers = 4, .hidden = 2048, .heads = 16, .sequence = 512, .copies = true});
  for (Buffer &buffer : problem.buffers)
    buffer.role = StateRole::Other;
  EXPECT_THAT(verify(problem, *parted.plan).error().message, HasSubstr("overlap while both are alive"));
}

TEST(Sharing, ReducesOnceWhereWholeGradientsFit) {
  Search none = planned("zero3", "none", 1 << 20), plenty = planned("zero3", "none", int64_t{64} << 30);
  Search tight = planned("zero3", "none", none.candidates[none.smallest].counted);
  ASSERT_TRUE(plenty.plan && tight.plan);
  EXPECT_EQ(plenty.plan->reduce, "once");
  EXPECT_EQ(tight.plan->reduce, "each");
  EXPECT_THAT(explainPlan(plenty), HasSubstr("zero3, gradients reduced once per step\n"));
  EXPECT_THAT(explainPlan(tight), HasSubstr("zero3, gradients reduced and scattered in each micro-step\n"));
  EXPECT_THAT(explainPlan(tight), HasSubstr("gradients f32 / 8"));
  EXPECT_EQ(planned("zero2", "none", int64_t{64} << 30).plan->reduce, "each");
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
  EXPECT_EQ(error("none", "all"), "--offload: `all` is none of auto, none, optimizer, parameters [usage]");
  EXPECT_EQ(error("zero3", "optimizer"), "");
  EXPECT_EQ(error("none", "parameters"),
            "--offload parameters on several devices keeps a part of them on each [usage]");
  EXPECT_EQ(error("zero3", "parameters"), "");
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
