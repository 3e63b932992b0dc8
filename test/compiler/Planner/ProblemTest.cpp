// SPDX-License-Identifier: Apache-2.0
// What `check` refuses, and how amounts are evaluated.
#include "compiler/Planner/Problem/Problem.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace accum::planner;
using testing::HasSubstr;

namespace {

/// Two micro commands, a buffer between them and a view of it.
Problem twoCommands() {
  Problem problem;
  problem.commands = {Command{.id = 1}, Command{.id = 2}};
  problem.buffers = {Buffer{.id = "1:0", .bytes = {0, 8, {}}, .producer = 0, .users = {1}},
                     Buffer{.id = "v", .bytes = {0, 8, {}}, .users = {1}, .aliasOf = 0}};
  return problem;
}

void expectRefused(const Problem &problem, const char *what) {
  Status status = check(problem);
  ASSERT_FALSE(status) << "expected: " << what;
  EXPECT_THAT(status.error().message, HasSubstr(what));
  EXPECT_EQ(status.error().slug, "malformed-problem");
}

TEST(Amount, AffineAndTable) {
  EXPECT_EQ((Amount{100, 8, {}}.at(3)), 124);
  Amount steps{0, 0, {{1, 0}, {8, 4096}}};
  EXPECT_EQ(steps.at(1), 0);
  EXPECT_EQ(steps.at(7), 0);
  EXPECT_EQ(steps.at(8), 4096);
  EXPECT_EQ(steps.at(1000), 4096);
}

TEST(Amount, SaturatesInsteadOfOverflowing) {
  EXPECT_GT((Amount{INT64_MAX, INT64_MAX, {}}.at(INT64_MAX)), kAmountLimit);
  EXPECT_EQ((Amount{0, kAmountLimit, {}}.at(1)), kAmountLimit);
}

TEST(Amount, Text) {
  EXPECT_EQ(toText(Amount{12, 0, {}}), "12");
  EXPECT_EQ(toText(Amount{0, 8, {}}), "8*m");
  EXPECT_EQ(toText(Amount{12, 8, {}}), "12+8*m");
  EXPECT_EQ(toText(Amount{0, 0, {{1, 0}, {8, 4096}}}), "table{1:0,8:4096}");
}

TEST(Check, AcceptsASoundProblem) {
  EXPECT_TRUE(check(twoCommands()));
  EXPECT_TRUE(check(Problem{}));
}

TEST(Check, RefusesCommands) {
  Problem problem = twoCommands();
  problem.commands[1].id = 1;
  expectRefused(problem, "two commands have the id 1");
  problem = twoCommands();
  problem.commands[0].phase = usual::kUpdate;
  expectRefused(problem, "command 2 of phase micro stands behind phase update, which comes later");
  problem = twoCommands();
  problem.commands[0].variants.clear();
  expectRefused(problem, "the first variant of command 1 is not `default`");
  problem = twoCommands();
  problem.commands[0].variants[0].flops.fixed = -1;
  expectRefused(problem, "command 1, variant default: an amount is negative");
}

TEST(Check, RefusesBuffers) {
  Problem problem = twoCommands();
  problem.buffers[1].id = "1:0";
  expectRefused(problem, "two buffers have the id 1:0");
  problem = twoCommands();
  problem.buffers[0].id = "1:w";
  expectRefused(problem, "ids that end in :w");
  problem = twoCommands();
  problem.buffers[0].bytes.perSample = -8;
  expectRefused(problem, "buffer 1:0: its size is negative");
  problem = twoCommands();
  problem.buffers[0].bytes = {0, 0, {{2, 8}}};
  expectRefused(problem, "a table does not start at 1");
}

TEST(Check, RefusesWhatIsNoCopyOfWeights) {
  Problem problem = twoCommands();
  Buffer &copy = problem.buffers[0];
  copy.bytes = {64, 0, {}};
  copy.role = StateRole::Parameters;
  copy.wholeStep = true;
  expectRefused(problem, "buffer 1:0: the role parameters is for copies of weights: whole-step");
  problem.buffers.pop_back(); // the view
  copy.wholeStep = false;
  expectRefused(problem, "buffer 1:0: the role parameters is for copies of weights: whole-step");
  copy.wholeStep = true;
  EXPECT_TRUE(check(problem));
  copy.role = StateRole::Gradients;
  expectRefused(problem, "the role gradients is for copies of weights");
  copy.role = StateRole::Parameters;
  copy.bytes = {0, 64, {}};
  expectRefused(problem, "the role parameters is for copies of weights");
  copy.bytes = {64, 0, {}};
  problem.commands[0].variants.push_back({.name = "small", .results = {{0, {8, 0, {}}}}});
  expectRefused(problem, "the role parameters is for copies of weights");
}

TEST(Check, RefusesLinks) {
  Problem problem = twoCommands();
  problem.buffers[0].users = {0};
  expectRefused(problem, "command 1 uses it, but its producer");
  problem = twoCommands();
  problem.buffers[0].users = {7};
  expectRefused(problem, "a user is not a command");
  problem = twoCommands();
  problem.buffers[1].mayAlias = {0};
  expectRefused(problem, "only a result with storage of its own");
}

TEST(Check, RefusesAliasCycles) {
  Problem problem = twoCommands();
  problem.buffers[0].aliasOf = 1;
  expectRefused(problem, "buffer 1:0: what it is a view of is not an earlier buffer");
  problem.buffers[0].aliasOf = 0;
  expectRefused(problem, "not an earlier buffer");
}

} // namespace
