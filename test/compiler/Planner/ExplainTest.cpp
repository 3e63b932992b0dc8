// SPDX-License-Identifier: Apache-2.0
// The words and tables that people see.
#include "compiler/Report/Explain.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Planner/Search/MemoryLines.h"
#include "compiler/Report/TensorNames.h"
#include "test/compiler/Planner/TransformerProblem.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace accum::planner;
using testing::HasSubstr;
using testing::Not;

namespace {

Search gpt2(Options options = {.batch = 1024, .devices = 4, .recompute = "none"}) {
  return *solve(transformerProblem(gpt2Small()), *loadProfile("h100"), options);
}

/// On an h100 of which the user allows so many bytes.
Search gpt2Within(int64_t bytes) {
  DeviceProfile profile = *loadProfile("h100");
  Options options = {.batch = 1024, .devices = 4, .recompute = "none"};
  limitMemory(bytes, profile, options);
  return *solve(transformerProblem(gpt2Small()), profile, options);
}

BudgetAnswers gpt2Budgets(const Options &options = {.batch = 1024, .devices = 4, .recompute = "none"}) {
  return *askBudgets(transformerProblem(gpt2Small()), *loadProfile("h100"), options, gpt2(options));
}

TEST(Explain, ThePlan) {
  std::string text = explainPlan(gpt2());
  EXPECT_THAT(
      text,
      HasSubstr("plan     micro-batch 32 x 8 accumulation steps, no recompute, not sharded, 1 all-reduce"));
  EXPECT_THAT(text, HasSubstr("         gradients f32                   0.46\n"));
  EXPECT_THAT(text, HasSubstr("         logits                          3.07\n"));
  EXPECT_THAT(text, HasSubstr("   = lower bound\n"));
  EXPECT_THAT(text, HasSubstr(" of 79.1\n"));
  EXPECT_THAT(text, HasSubstr("(predicted, datasheet rates)"));
  EXPECT_THAT(
      text,
      HasSubstr("why      256 does not fit (22.0 GiB over); 128 is 0.6 % faster and takes 36.7 GiB more;"));
  EXPECT_THAT(text, HasSubstr("31 sizes compared in "));
  text = explainPlan(gpt2({.batch = 1024, .devices = 4, .recompute = "none", .prefer = "speed"}));
  EXPECT_THAT(text, HasSubstr("micro-batch 128 x 2 accumulation steps"));
  EXPECT_THAT(text, HasSubstr("why      256 does not fit (22.0 GiB over); 64 takes"));
}

TEST(Explain, SaysWhatIsRecomputed) {
  Search search = gpt2({.batch = 64, .microBatch = *parseMicroBatch("16"), .budget = int64_t{7} << 30});
  std::string text = explainPlan(search);
  EXPECT_THAT(text, HasSubstr("plan     micro-batch 16 x 4 accumulation steps, recompute "));
  EXPECT_THAT(text, HasSubstr(" of 270 commands ("));
  EXPECT_THAT(text, HasSubstr("why      16 with everything kept does not fit ("));
  EXPECT_THAT(text, HasSubstr("no other size to compare"));
  search.settled = "the fastest of 4 sizes timed here, of 7";
  EXPECT_THAT(explainPlan(search), HasSubstr("the fastest of 4 sizes timed here"));
  EXPECT_EQ(toJson(search, {})["plan"]["recompute"].size(), search.plan->recompute.size());
}

TEST(Explain, TheSearch) {
  std::string text = explainSearch(gpt2(), gpt2Budgets());
  EXPECT_THAT(text, HasSubstr("   K    m  last  arena GiB  ms/step\n"));
  EXPECT_THAT(text, HasSubstr("does not fit: 22.0 GiB over 77.9\n"));
  EXPECT_THAT(text, HasSubstr("   0.6 % faster and takes 36.7 GiB more\n"));
  EXPECT_THAT(text, HasSubstr("   chosen\n"));
  EXPECT_THAT(text, HasSubstr("5 padded rows, one more micro-step\n"));
  EXPECT_THAT(text, HasSubstr("         23 more sizes: --json\n"));
  EXPECT_THAT(text,
              HasSubstr("peak     micro-step, at lm_head (linear_cross_entropy_bwd): logits 3.07 GiB;"));
  EXPECT_THAT(text, HasSubstr("h.0..11.mlp.c_fc 0.19 each"));
  EXPECT_THAT(text, HasSubstr("budget   least 3.67 GiB (m = 1); +1 GiB, +4 GiB or +10 GiB buys nothing;"));
  EXPECT_THAT(text, HasSubstr("m = 256 needs 101.15 GiB and saves"));
  for (size_t rows : {1, 2, 3, 100})
    EXPECT_THAT(explainSearch(gpt2(), {}, rows), HasSubstr("   chosen\n"));
}

TEST(Explain, WhenNothingFits) {
  Search search = gpt2Within(int64_t{3} << 30);
  ASSERT_FALSE(search.plan);
  Error error = explainNoFit(search);
  EXPECT_EQ(error.slug, "does-not-fit");
  EXPECT_EQ(error.message, "no micro-batch fits into 1.80 GiB (3.0 GiB less 1.2 GiB for the driver): the "
                           "smallest, 1, needs 2.47 GiB "
                           "(684.6 MiB over)");
  EXPECT_THAT(error.notes, testing::Contains(HasSubstr("what it needs most: AdamW m, v 949.4 MiB")));
  EXPECT_THAT(error.notes, testing::Contains(HasSubstr("--optimizer sgd keeps no moments")));
  EXPECT_EQ(error.notes.back(), "--memory 3757MiB is the least that works");
  Search least = gpt2Within(int64_t{3757} << 20);
  ASSERT_TRUE(least.plan);
  EXPECT_LE(least.plan->total(), int64_t{3757} << 20); // the driver's part included
  EXPECT_FALSE(gpt2Within(int64_t{3756} << 20).plan);
  EXPECT_THAT(explainSearch(search, {}), Not(HasSubstr("chosen")));
}

TEST(Explain, LittleMemoryInUnitsThatTellItApart) {
  EXPECT_THAT(explainNoFit(gpt2Within((int64_t{1229} << 20) + (4 << 20))).message,
              HasSubstr("fits into 4.00 MiB (1233.0 MiB less 1229.0 MiB for the driver)"));
}

/// A plan of two sizes: three ways to run 8 samples in one step and one in two.
Search handMade(double seconds) {
  Search search;
  search.budget = 1 << 20;
  for (int way : {0, 1, 2})
    search.candidates.push_back({.cut = {8, 1, 8}, .arena = 1 << 10, .seconds = seconds * (1 + way)});
  search.candidates.push_back({.cut = {4, 2, 4}, .arena = 1 << 9, .seconds = 4 * seconds});
  search.candidates[0].verdict = Verdict::Chosen;
  search.smallest = 3;
  return search;
}

TEST(Explain, TimesHaveTheDigitsThatPercentagesNeed) {
  auto table = [](double seconds) { return explainSearch(handMade(seconds), {}); };
  EXPECT_THAT(table(0.000961), HasSubstr("   0.9610   chosen"));
  EXPECT_THAT(table(0.0882), HasSubstr("    88.20   chosen"));
  EXPECT_THAT(table(0.2117), HasSubstr("    211.7   chosen"));
  EXPECT_THAT(table(123), HasSubstr(" 123000.0   chosen"));
}

TEST(Explain, CountsSizesNotWaysToRunThem) {
  EXPECT_THAT(explainSearch(handMade(1), {}, 2),
              HasSubstr("         other ways to run these sizes: --json\n"));
  EXPECT_THAT(explainSearch(handMade(1), {}, 1), HasSubstr("         1 more size: --json\n"));
  EXPECT_THAT(explainSearch(handMade(1), {}, 4), Not(HasSubstr("--json")));
}

TEST(Explain, WhatToAddIsEnough) {
  Search search = handMade(1);
  BudgetAnswers answers;
  answers.larger.push_back({.budget = 0, .change = (22 << 20) + (300 << 10), .chosen = search.candidates[0]});
  answers.larger.front().chosen->seconds = 0.5;
  EXPECT_THAT(explainSearch(search, answers), HasSubstr("+22.3 MiB buys m = 8"));
}

TEST(Explain, ForcedSizesNameTheWayOut) {
  Search search =
      gpt2({.batch = 1024, .devices = 4, .microBatch = *parseMicroBatch("256"), .recompute = "none"});
  ASSERT_FALSE(search.plan);
  EXPECT_THAT(explainNoFit(search).notes, testing::Contains("--micro-batch auto tries smaller sizes"));
}

TEST(Explain, JsonIsComplete) {
  nlohmann::ordered_json json = toJson(gpt2(), {});
  EXPECT_EQ(json["reason"], "chosen");
  EXPECT_EQ(json["candidates"].size(), 31u);
  EXPECT_EQ(json["candidates"][0]["verdict"], "does-not-fit");
  EXPECT_EQ(json["plan"]["micro_batch"], 32);
  EXPECT_EQ(toJson(gpt2({.batch = 4, .budget = 1 << 20, .recompute = "none"}), {})["reason"], "does-not-fit");
}

TEST(Explain, OtherBudgetsAreAskedAgain) {
  Options options{.batch = 1024, .devices = 4, .budget = int64_t{20} << 30, .recompute = "none"};
  BudgetAnswers answers = gpt2Budgets(options);
  Search now = gpt2(options);
  ASSERT_EQ(answers.larger.size(), 3u);
  for (const BudgetAnswer &answer : answers.larger) {
    Options more = options;
    more.budget = answer.budget;
    EXPECT_EQ(answer.change, answer.budget - (int64_t{20} << 30));
    EXPECT_EQ(answer.chosen->cut, gpt2(more).plan->cut);
    EXPECT_LE(answer.chosen->seconds, now.plan->seconds());
  }
  ASSERT_GE(answers.tighter.size(), 2u);
  EXPECT_EQ(answers.tighter.back().budget, now.candidates[now.smallest].counted);
  for (const BudgetAnswer &answer : answers.tighter) {
    EXPECT_LE(answer.chosen->counted, answer.budget);
    EXPECT_GE(answer.chosen->seconds, now.plan->seconds());
  }
  nlohmann::ordered_json json = toJson(now, answers);
  EXPECT_EQ(json["budgets"].size(), answers.larger.size() + answers.tighter.size());
  EXPECT_EQ(json["budgets"].back()["change_bytes"], int64_t{10} << 30);
}

TEST(Explain, BudgetsWhereNothingFits) {
  Options options{.batch = 1024, .devices = 4, .budget = int64_t{64} << 20, .recompute = "none"};
  BudgetAnswers answers = gpt2Budgets(options);
  EXPECT_TRUE(answers.tighter.empty());
  EXPECT_FALSE(answers.larger.front().chosen);
  EXPECT_TRUE(answers.larger.back().chosen);
}

TEST(Explain, AnEmptyProblem) {
  Search search = *solve(Problem{}, *loadProfile("h100"), {.batch = 1});
  EXPECT_THAT(explainPlan(search) + explainSearch(search, {}), HasSubstr("nothing is kept between commands"));
  EXPECT_THAT(explainPlan(search), Not(HasSubstr("inf"))) << "samples in no time";
}

TEST(TensorNames, LayersBecomeRanges) {
  auto groups = groupTensors({{"h.0.a", BufferKind::Activation, 8},
                              {"h.1.a", BufferKind::Activation, 8},
                              {"h.3.a", BufferKind::Activation, 8},
                              {"h.0.b", BufferKind::Activation, 8},
                              {"x2", BufferKind::Activation, 8},
                              {"/7/b", BufferKind::Activation, 4},
                              {"/8/b", BufferKind::Activation, 4}});
  std::vector<std::string> labels;
  for (const TensorGroup &group : groups)
    labels.push_back(group.label);
  EXPECT_THAT(labels, testing::ElementsAre("h.{3 of 0..3}.a", "/7..8/b", "h.0.b", "x2"));
}

TEST(TensorNames, SeveralTensorsOfOneLabelAreCounted) {
  auto groups = groupTensors({{"node_mul_1 ...", BufferKind::Activation, 8},
                              {"node_mul_105 ...", BufferKind::Activation, 8},
                              {"node_mul_105 ...", BufferKind::Activation, 8}});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].label, "node_mul_{2 of 1..105} ...");
  EXPECT_EQ(groups[0].count, 3);
  EXPECT_EQ(groups[0].numbers, 2);
}

TEST(TensorNames, AModuleStandsForItsNodes) {
  auto groups = groupTensors({{"h.0.mlp.act: node_mul_3", BufferKind::Activation, 8},
                              {"h.0.mlp.act: node_addmm_17", BufferKind::Activation, 8},
                              {"h.1.mlp.act: node_mul_9", BufferKind::Activation, 8},
                              {"h.1.mlp.act: node_addmm_23", BufferKind::Activation, 8}});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].label, "h.0..1.mlp.act");
  EXPECT_EQ(groups[0].count, 4);
  EXPECT_EQ(groups[0].numbers, 2);
}

TEST(Quantity, BytesAreRead) {
  EXPECT_EQ(*parseBytes("16GiB"), int64_t{16} << 30);
  EXPECT_EQ(*parseBytes("1.5MiB"), 3 << 19);
  EXPECT_EQ(*parseBytes("40GB"), 40'000'000'000);
  EXPECT_EQ(*parseBytes("4096"), 4096);
  for (const char *bad : {"", "0", "-1", "1e9", "GiB", "12 GiB", "1XiB", "nan", "inf", "99999999999TiB"})
    EXPECT_FALSE(parseBytes(bad)) << bad;
}

TEST(Quantity, FiguresReadWell) {
  EXPECT_EQ(formatBudget(int64_t{1948} << 20), "1.91 GiB"); // 1.90 would be two MiB too few
  EXPECT_EQ(formatBudget(int64_t{3} << 30), "3.00 GiB");
  EXPECT_EQ(formatSeconds(0.498), "498 ms");
  EXPECT_EQ(formatSeconds(0.0017), "1.7 ms");
  EXPECT_EQ(formatSeconds(0.000085), "85 us");
  EXPECT_EQ(formatSeconds(1.68e-9), "1.68 ns");
  EXPECT_EQ(formatSeconds(0), "0 us");
  EXPECT_EQ(formatCount(2110000), "2.11M");
  EXPECT_EQ(formatThousands(1048576), "1,048,576");
  EXPECT_EQ(formatThousands(-1024), "-1,024");
}

} // namespace
