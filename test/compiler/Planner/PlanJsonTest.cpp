// SPDX-License-Identifier: Apache-2.0
// plan.json: round trips to the same bytes, and damaged files are refused with what and where.
#include "compiler/Planner/Search/Solve.h"
#include "compiler/Planner/Verify/Verify.h"
#include "test/compiler/Planner/RandomProblem.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace accum::planner;
using testing::HasSubstr;

namespace {

class PlanJson : public testing::Test {
protected:
  PlanJson() {
    Random random(41);
    problem = randomProblem(random, 30);
    plan = *solve(problem, *loadProfile("h100"), {.batch = 20, .devices = 3})->plan;
    text = toJson(plan);
  }

  void expectRefused(const std::string &from, const std::string &to, const char *what) {
    std::string damaged = text;
    size_t at = damaged.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    Result<Plan> read = parsePlan(damaged.replace(at, from.size(), to), "plan.json");
    ASSERT_FALSE(read) << "expected: " << what;
    EXPECT_THAT(read.error().message, HasSubstr(what));
    EXPECT_EQ(read.error().slug, "malformed-plan");
  }

  Problem problem;
  Plan plan;
  std::string text;
};

TEST_F(PlanJson, RoundTripsToTheSameBytes) {
  Result<Plan> read = parsePlan(text, "plan.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(toJson(*read), text);
  EXPECT_TRUE(verify(problem, *read));
  EXPECT_EQ(read->memory, plan.memory);
}

TEST_F(PlanJson, KeepsTheChoicesItDoesNotMakeYet) {
  plan.recompute = {3, 4};
  plan.variants = {{7, "chunks4"}};
  Result<Plan> read = parsePlan(toJson(plan), "plan.json");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->recompute, plan.recompute);
  EXPECT_EQ(read->variants, plan.variants);
}

TEST_F(PlanJson, RefusesDamage) {
  expectRefused("accum-plan", "plan", "plan.json: format is `plan`");
  expectRefused("\"version\": 1", "\"version\": 9", "version is 9, this program reads version 1");
  expectRefused("\"micro_batch\": ", "\"micro_batch\": -", "micro_batch is -");
  expectRefused("\"align\"", "\"colour\"", "align is missing");
  expectRefused("\"shard\"", "\"x\": 1, \"shard\"", "x is not a known key");
  expectRefused("\"chosen\"", "\"best\"", "verdict is `best`, not a verdict");
  expectRefused("\"kind\": \"state\"", "\"kind\": \"heap\"",
                "memory[0].kind is `heap`, not a kind of memory");
  expectRefused("\"input\": ", "\"input\": -1", "slots.input is not an offset");
  expectRefused("\"recompute\": []", "\"recompute\": [\"a\"]", "recompute[0] is not a command id");
}

TEST_F(PlanJson, SurvivesTruncationAnywhere) {
  for (size_t length = 0; length + 2 < text.size(); length += 7)
    EXPECT_FALSE(parsePlan(std::string_view(text).substr(0, length), "plan.json"));
}

} // namespace
