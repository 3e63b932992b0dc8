// SPDX-License-Identifier: Apache-2.0
// The search: all sizes enumerated, the fastest fitting one chosen, budgets monotone, every plan verified.
#include "compiler/Planner/Search/Solve.h"
#include "compiler/Planner/Problem/ProblemText.h"
#include "compiler/Planner/Verify/Verify.h"
#include "compiler/Report/Explain.h"
#include "test/compiler/Planner/RandomProblem.h"
#include "test/compiler/Planner/TransformerProblem.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

using namespace accum::planner;
using testing::HasSubstr;

namespace {

DeviceProfile h100() { return *loadProfile("h100"); }

Search solved(const Problem &problem, const DeviceProfile &profile, const Options &options) {
  Result<Search> search = solve(problem, profile, options);
  EXPECT_TRUE(search) << search.error().message;
  return *search;
}

/// As many commands forward as backward, each with a result; what is saved is nested.
Problem longProblem(int commands) {
  Random random(21);
  std::string text = "accum-problem 1\nname long\ntokens 32\nbatch 8\n";
  for (int index = 1; index <= commands; ++index)
    text += fmt::format("command {} micro kernel add flops={}*m bytes={}*m{}\n", index, draw(random, 1, 999),
                        draw(random, 1, 999), index > commands / 2 ? " backward" : "");
  for (int index = 1; index < commands; ++index) {
    int mirror = commands + 1 - index;
    text += fmt::format("buffer {}:0 activation {}*m producer={} users={}", index, 64 * draw(random, 1, 4000),
                        index, index + 1);
    text += mirror > index + 1 ? fmt::format(",{}\n", mirror) : "\n";
  }
  Result<Problem> problem = parseProblem(text, "long.txt");
  EXPECT_TRUE(problem) << problem.error().message;
  return *problem;
}

/// So many that a look at each neighbour of one choice would take hours: the search ends by itself, and soon
/// after a deadline, with a plan that holds.
TEST(Solve, EndsWhereCommandsAreMany) {
  Problem problem = longProblem(110'000);
  for (Deadline deadline : {Deadline(), Deadline::in(0.1)}) {
    double begin = cpuSeconds();
    Search search = solved(problem, h100(), {.batch = 8, .budget = int64_t{1} << 40, .deadline = deadline});
    EXPECT_LT(cpuSeconds() - begin, kHang);
    ASSERT_TRUE(search.plan);
    Status status = verify(problem, *search.plan);
    EXPECT_TRUE(status) << status.error().message;
  }
}

TEST(Cuts, AreTheDistinctSizesAndNoOthers) {
  for (int64_t batch = 1; batch <= 200; ++batch) {
    std::map<int64_t, int64_t> naive; // m -> K
    for (int64_t steps = 1; steps <= batch; ++steps) {
      int64_t m = (batch + steps - 1) / steps;
      naive[m] = (batch + m - 1) / m;
    }
    Result<Cuts> cuts = enumerateCuts({.batch = batch});
    ASSERT_TRUE(cuts);
    ASSERT_EQ(cuts->cuts.size(), naive.size()) << batch;
    for (const Cut &cut : cuts->cuts) {
      ASSERT_EQ(naive[cut.m], cut.steps) << batch;
      ASSERT_EQ((cut.steps - 1) * cut.m + cut.last, batch);
      ASSERT_TRUE(cut.last >= 1 && cut.last <= cut.m);
    }
  }
}

TEST(Cuts, FollowTheOptions) {
  auto only = [](const Options &options) { return enumerateCuts(options)->cuts; };
  using testing::ElementsAre;
  EXPECT_THAT(only({.batch = 256, .microBatch = *parseMicroBatch("100")}), ElementsAre(Cut{100, 3, 56}));
  EXPECT_THAT(only({.batch = 1000, .devices = 3, .microBatch = *parseMicroBatch("none")}),
              ElementsAre(Cut{334, 1, 334}));
  EXPECT_THAT(only({.batch = 10, .accumulationSteps = 4}), ElementsAre(Cut{3, 4, 1}));
  EXPECT_THAT(only({.batch = 256, .microBatch = *parseMicroBatch("100..120")}), ElementsAre(Cut{100, 3, 56}));
  EXPECT_THAT(only({.batch = 6, .microBatch = *parseMicroBatch("..2")}),
              ElementsAre(Cut{2, 3, 2}, Cut{1, 6, 1}));
  EXPECT_THAT(only({.batch = 6, .microBatch = *parseMicroBatch("3..")}),
              ElementsAre(Cut{6, 1, 6}, Cut{3, 2, 3}));
}

TEST(Cuts, SayWhatTheyChanged) {
  EXPECT_THAT(enumerateCuts({.batch = 256, .microBatch = *parseMicroBatch("100")})->notices,
              testing::ElementsAre(
                  HasSubstr("the last of 3 micro-steps holds 56 samples; the even size of 3 steps is 86")));
  EXPECT_THAT(enumerateCuts({.batch = 10, .accumulationSteps = 4})->notices,
              testing::ElementsAre("micro-batch 3: the last of 4 micro-steps holds 1 sample"));
  EXPECT_THAT(enumerateCuts({.batch = 10, .accumulationSteps = 7})->notices,
              testing::ElementsAre(
                  HasSubstr("7 accumulation steps over 10 samples per device: micro-batch 2 needs 5")));
}

void expectUsage(const Options &options, const char *what, const char *slug = "usage") {
  Result<Cuts> cuts = enumerateCuts(options);
  ASSERT_FALSE(cuts) << what;
  EXPECT_THAT(cuts.error().message, HasSubstr(what));
  EXPECT_EQ(cuts.error().slug, slug);
}

TEST(Cuts, DevicesWithoutASampleAreTold) {
  auto noticesOf = [](int64_t batch, int64_t devices) {
    return enumerateCuts({.batch = batch, .devices = devices})->notices;
  };
  EXPECT_THAT(
      noticesOf(3, 8),
      testing::ElementsAre("3 samples over 8 devices, at most 1 each: 5 devices have none in any step"));
  EXPECT_THAT(
      noticesOf(9, 4),
      testing::ElementsAre("9 samples over 4 devices, at most 3 each: one device has none in any step"));
  EXPECT_THAT(
      noticesOf(1, 2),
      testing::ElementsAre("1 sample over 2 devices, at most 1 each: one device has none in any step"));
  EXPECT_THAT(noticesOf(10, 4), testing::IsEmpty()); // 3, 3, 3, 1
}

TEST(Cuts, RefuseContradictions) {
  expectUsage({.batch = 0}, "--batch is 0");
  expectUsage({.batch = -3}, "--batch is -3");
  expectUsage({.batch = 4, .devices = 0}, "--devices is 0");
  expectUsage({.batch = 8, .devices = 2, .microBatch = *parseMicroBatch("5")},
              "micro-batch 5 is larger than the per-device batch 4");
  expectUsage({.batch = 8, .microBatch = *parseMicroBatch("2"), .accumulationSteps = 4}, "both given");
  expectUsage({.batch = 8, .microBatch = *parseMicroBatch("3"), .requireDivisible = true},
              "no allowed micro-batch divides the per-device batch 8; 3 leaves 2 samples in the last of 3",
              "not-divisible");
  expectUsage({.batch = 7, .microBatch = *parseMicroBatch("2..6"), .requireDivisible = true},
              "no allowed micro-batch divides the per-device batch 7", "not-divisible");
  expectUsage({.batch = 7, .microBatch = *parseMicroBatch("3"), .requireDivisible = true},
              "3 leaves 1 sample in the last of 3 micro-steps", "not-divisible");
  expectUsage({.batch = 9, .devices = 2, .requireDivisible = true}, "does not divide over 2 devices",
              "not-divisible");
  EXPECT_THAT(enumerateCuts({.batch = 9, .devices = 2, .requireDivisible = true}).error().notes,
              testing::ElementsAre(HasSubstr("without --require-divisible")));
  expectUsage({.batch = 8, .accumulationSteps = 9, .requireDivisible = true},
              "9 accumulation steps over 8 samples per device: micro-batch 1 needs 8");
  expectUsage({.batch = 8, .accumulationSteps = 5, .requireDivisible = true}, "micro-batch 2 needs 4");
  expectUsage({.batch = 8, .accumulationSteps = 3, .requireDivisible = true}, "3 leaves 2 samples",
              "not-divisible");
  expectUsage({.batch = 8, .recompute = "some"}, "--recompute is `some`, expected auto, none or all");
  expectUsage({.batch = 8, .prefer = "nothing"}, "--prefer is `nothing`, expected balanced, speed or memory");
  expectUsage({.batch = int64_t{1} << 40}, "more than 65536 sizes");
}

TEST(Cuts, ReadTheFlag) {
  for (const char *bad : {"0", "-3", "x", "", "..", "8..4", "0..4", "1e9", "99999999999999999999", "4..x"})
    EXPECT_FALSE(parseMicroBatch(bad)) << bad;
  EXPECT_EQ(parseMicroBatch("explore").error().slug, "usage");
}

TEST(Solve, PlansOfRandomProblemsAreValid) {
  Random random(11);
  DeviceProfile profile = h100();
  for (int round = 0; round < 300; ++round) {
    Problem problem = randomProblem(random, static_cast<int>(draw(random, 0, 30)));
    Status sound = check(problem);
    ASSERT_TRUE(sound) << sound.error().message;
    Options options{.batch = draw(random, 1, 40), .devices = draw(random, 1, 4)};
    Search search = solved(problem, profile, options);
    ASSERT_TRUE(search.plan);
    Status status = verify(problem, *search.plan);
    ASSERT_TRUE(status) << "round " << round << ": " << status.error().message;
    for (const Candidate &candidate : search.candidates)
      if (candidate.verdict == Verdict::Chosen)
        EXPECT_EQ(search.plan->counted(), candidate.counted);
    EXPECT_EQ(search.peak.bytes, search.plan->lowerBound);
  }
}

TEST(Solve, ChoosesTheFastestThatFitsAndMoreMemoryNeverHurts) {
  Random random(12);
  DeviceProfile profile = h100();
  for (int round = 0; round < 60; ++round) {
    Problem problem = randomProblem(random, 20);
    double before = 1e30;
    for (int64_t budget = 2000; budget < 3'000'000; budget = budget * 5 / 4) {
      Search search = solved(problem, profile, {.batch = 24, .budget = budget, .prefer = "speed"});
      double best = 1e30;
      for (const Candidate &candidate : search.candidates)
        if (candidate.packed && candidate.counted <= budget)
          best = std::min(best, candidate.seconds);
      ASSERT_EQ(search.plan.has_value(), best < 1e30);
      if (!search.plan)
        continue;
      ASSERT_TRUE(verify(problem, *search.plan));
      ASSERT_NEAR(search.plan->seconds(), best, 1e-12 + 1e-9 * best);
      ASSERT_LE(search.plan->seconds(), before * (1 + 1e-9) + 1e-12);
      before = search.plan->seconds();
    }
  }
}

/// What is as fast as the fastest takes less memory; budgets stay monotone in time and in memory.
TEST(Solve, PrefersLessMemoryAmongWhatIsAsFast) {
  Random random(14);
  DeviceProfile profile = h100();
  int cheaper = 0;
  for (int round = 0; round < 40; ++round) {
    Problem problem = randomStep(random, 5, 3, 2);
    double seconds = 1e30;
    int64_t bytes = 0;
    for (int64_t budget = 20'000; budget < 300'000'000; budget = budget * 3 / 2) {
      Options options{.batch = 24, .budget = budget};
      Search balanced = solved(problem, profile, options);
      options.prefer = "speed";
      Search fast = solved(problem, profile, options);
      options.prefer = "memory";
      Search small = solved(problem, profile, options);
      ASSERT_EQ(balanced.plan.has_value(), fast.plan.has_value());
      if (!fast.plan)
        continue;
      ASSERT_TRUE(verify(problem, *balanced.plan) && verify(problem, *small.plan));
      double limit = fast.plan->seconds() * 1.01;
      ASSERT_LE(balanced.plan->seconds(), limit * (1 + 1e-9));
      ASSERT_LE(balanced.plan->counted(), fast.plan->counted());
      ASSERT_LE(fast.plan->counted(), budget);
      ASSERT_LE(small.plan->counted(), balanced.plan->counted());
      for (const Search *search : {&balanced, &fast, &small})
        for (const Candidate &other : search->candidates)
          if (other.packed && other.seconds <= limit * (1 - 1e-9))
            ASSERT_GE(other.counted, balanced.plan->counted()) << "round " << round;
      ASSERT_LE(balanced.plan->seconds(), seconds * (1 + 1e-9) + 1e-12);
      ASSERT_GE(balanced.plan->counted(), bytes);
      seconds = balanced.plan->seconds();
      bytes = balanced.plan->counted();
      cheaper += balanced.plan->counted() < fast.plan->counted() ? 1 : 0;
    }
  }
  EXPECT_GT(cheaper, 20);
}

TEST(Solve, AMeasuredProfileTellsHalfAsMuchApart) {
  Problem problem = transformerProblem(gpt2Small());
  DeviceProfile profile = h100();
  auto slower = [&] {
    return solved(problem, profile, {.batch = 1024}).plan->seconds() /
           solved(problem, profile, {.batch = 1024, .prefer = "speed"}).plan->seconds();
  };
  EXPECT_GT(slower(), 1.005);
  profile.basis = "measured";
  EXPECT_LE(slower(), 1.005);
}

TEST(Solve, SaysWhatTheFasterOneTakes) {
  Search search = solved(transformerProblem(gpt2Small()), h100(), {.batch = 1024});
  EXPECT_THAT(explainPlan(search),
              testing::ContainsRegex("is [01]\\.[0-9] % faster and takes [0-9.]+ GiB more"));
}

TEST(Solve, TheSmallestCandidateIsTheSmallestBudget) {
  Problem problem = transformerProblem(gpt2Small());
  Search wide = solved(problem, h100(), {.batch = 64});
  int64_t least = wide.candidates[wide.smallest].counted;
  EXPECT_TRUE(solved(problem, h100(), {.batch = 64, .budget = least}).plan);
  Search none = solved(problem, h100(), {.batch = 64, .budget = least - 1});
  EXPECT_FALSE(none.plan);
  EXPECT_EQ(none.candidates[none.smallest].over, 1);
}

TEST(Solve, MemoryLinesSumToTheTotal) {
  Search search = solved(transformerProblem(gpt2Small()), h100(), {.batch = 1024, .devices = 4});
  int64_t state = 0, scratch = 0;
  for (const MemoryLine &line : search.plan->memory) {
    state += line.kind == MemoryClass::State ? line.bytes : 0;
    scratch += line.kind == MemoryClass::Scratch ? line.bytes : 0;
  }
  EXPECT_EQ(state, search.plan->state);
  EXPECT_EQ(scratch, search.plan->scratch);
  EXPECT_GT(search.plan->total(), search.plan->counted());
  EXPECT_EQ(search.plan->cut.m, 32);
  EXPECT_EQ(search.plan->scratch, search.plan->lowerBound);
}

/// x -> y in place: one rectangle instead of two, and the same offset.
TEST(Solve, ResultsTakeTheirOperandsPlace) {
  Problem problem;
  problem.commands = {Command{.id = 1}, Command{.id = 2}, Command{.id = 3}};
  problem.buffers = {Buffer{.id = "x", .bytes = {0, 256, {}}, .producer = 0, .users = {1}},
                     Buffer{.id = "y", .bytes = {0, 256, {}}, .producer = 1, .users = {2}}};
  EXPECT_EQ(solved(problem, h100(), {.batch = 4}).plan->scratch, 2048);
  problem.buffers[1].mayAlias = {0};
  Plan plan = *solved(problem, h100(), {.batch = 4}).plan;
  EXPECT_EQ(plan.scratch, 1024);
  EXPECT_EQ(plan.slots[0].second, plan.slots[1].second);
  EXPECT_TRUE(verify(problem, plan));
  problem.buffers.push_back(Buffer{.id = "z", .bytes = {0, 256, {}}, .producer = 1, .mayAlias = {0}});
  plan = *solved(problem, h100(), {.batch = 4}).plan;
  EXPECT_EQ(plan.scratch, 2048) << "only one of two results can have the place";
  EXPECT_TRUE(verify(problem, plan));
}

TEST(Solve, RequireDivisibleMarksTheOthers) {
  Search search = solved(transformerProblem(gpt2Small()), h100(), {.batch = 6, .requireDivisible = true});
  for (const Candidate &candidate : search.candidates)
    EXPECT_EQ(candidate.verdict == Verdict::NotDivisible, candidate.cut.last != candidate.cut.m);
}

TEST(Solve, RefusesSizesNearOverflow) {
  Problem problem;
  problem.commands = {Command{.id = 1}};
  problem.buffers = {Buffer{.id = "b", .bytes = {0, int64_t{1} << 58, {}}, .producer = 0}};
  Result<Search> search = solve(problem, h100(), {.batch = 1000});
  ASSERT_FALSE(search);
  EXPECT_THAT(search.error().message, HasSubstr("buffer b is larger than 2^60 bytes"));
}

TEST(Solve, IsDeterministic) {
  Random random(13);
  Problem problem = randomProblem(random, 40);
  EXPECT_EQ(toJson(*solved(problem, h100(), {.batch = 17}).plan),
            toJson(*solved(problem, h100(), {.batch = 17}).plan));
}

TEST(Solve, PlansSmallAndLargeModels) {
  for (auto [shape, budget] :
       {std::pair(gpt2Small(), int64_t{80} << 30), {gpt3Largest(), int64_t{8} << 40}}) {
    Problem problem = transformerProblem(shape);
    double begin = cpuSeconds();
    Search search = solved(problem, h100(), {.batch = 1024, .devices = 4, .budget = budget});
    EXPECT_TRUE(search.plan && verify(problem, *search.plan));
    EXPECT_LT(cpuSeconds() - begin, kHang);
  }
}

} // namespace
