// SPDX-License-Identifier: Apache-2.0
// A step of seven phases: what lives where, what takes how long, and a plan that the verifier accepts.
#include "compiler/Planner/Problem/ProblemText.h"
#include "compiler/Planner/Search/Solve.h"
#include "compiler/Planner/Search/Storage.h"
#include "compiler/Planner/Verify/Verify.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace accum::planner;
using testing::ElementsAre;

namespace {

/// Two loops of totals, a value computed once, a loop whose sum depends on the weights, what is computed once
/// from that, the main loop, the update.
constexpr const char *kSeven = R"(accum-problem 1
batch 8
phase counts loop
phase moments loop
phase mean once
phase encode loop
phase whole once
phase micro main
phase update update
command 1 counts kernel count bytes=64*m once
command 2 moments kernel square bytes=1024*m
command 3 moments kernel sum bytes=1024*m once
command 4 mean kernel divide bytes=64
command 5 encode kernel shift bytes=1024*m
command 6 encode kernel squares bytes=1024*m once
command 7 whole kernel root bytes=64
command 8 micro kernel shift bytes=1024*m
command 9 micro kernel loss bytes=1024*m once
command 10 micro kernel gradient bytes=1024*m backward once
command 11 update update sgd bytes=4096 once
buffer 2:0 activation 1024*m producer=2 users=3
buffer 4:0 constant 256 whole-step producer=4 users=5,8
buffer 5:0 activation 1024*m producer=5 users=6
buffer 7:0 constant 64 producer=7 users=9,10
buffer 8:0 activation 1024*m producer=8 users=9,10
)";

Problem sevenPhases() {
  Result<Problem> problem = parseProblem(kSeven, "seven");
  EXPECT_TRUE(problem) << problem.error().message;
  return *problem;
}

TEST(SevenPhases, AreWrittenAsTheyWereRead) { EXPECT_EQ(toText(sevenPhases()), kSeven); }

TEST(SevenPhases, BuffersLiveThroughTheLoopsThatTheyCross) {
  Problem problem = sevenPhases();
  Lifetimes lifetimes(problem);
  std::vector<std::pair<int, int>> lives;
  for (const Lifetimes::Interval &life : lifetimes.life)
    lives.emplace_back(life.start, life.end);
  // Commands by position: what `whole` leaves is there until the last micro-step ends.
  EXPECT_THAT(lives, ElementsAre(std::pair(1, 3), std::pair(0, 11), std::pair(4, 6), std::pair(6, 10),
                                 std::pair(7, 10)));
  EXPECT_THAT(lifetimes.crossesLoop, ElementsAre(0, 1, 0, 1, 0));
}

TEST(SevenPhases, EveryLoopHasALineOfTime) {
  Problem problem = sevenPhases();
  Result<DeviceProfile> profile = loadProfile("h100");
  ASSERT_TRUE(profile);
  Options options;
  options.batch = 8;
  options.microBatch = {MicroBatch::Forced, 2};
  Result<Search> search = solve(problem, *profile, options);
  ASSERT_TRUE(search) << search.error().message;
  ASSERT_TRUE(search->plan);
  std::vector<std::string> names;
  for (const TimeLine &line : search->plan->time)
    names.push_back(line.name);
  EXPECT_THAT(names, ElementsAre("counts", "moments", "encode", "once per step", "micro-steps", "update"));
  Status verified = verify(problem, *search->plan);
  EXPECT_TRUE(verified) << verified.error().message;
}

/// The first micro-step adds its terms, and what runs once stands between its two parts.
constexpr const char *kKept = R"(accum-problem 1
batch 8
phase encode rest
phase whole once
phase micro main
phase update update
command 5 encode kernel squares bytes=1073741824*m once
command 6 micro kernel shift bytes=1073741824*m
command 7 micro kernel squares bytes=1073741824*m once
command 8 micro kernel scores of=whole bytes=1073741824 once
command 9 micro kernel root of=whole bytes=1073741824 once
command 10 micro kernel gradient bytes=1073741824*m backward once
command 11 update update sgd bytes=4096 once
buffer 6:0 activation 1024*m producer=6 users=7,10
buffer 8:0 activation 4096 producer=8 users=9
buffer 9:0 constant 64 whole-step producer=9 users=10
)";

Problem keptForward() {
  Result<Problem> problem = parseProblem(kKept, "kept");
  EXPECT_TRUE(problem) << problem.error().message;
  return *problem;
}

TEST(KeptForward, IsWrittenAsItWasRead) { EXPECT_EQ(toText(keptForward()), kKept); }

TEST(KeptForward, WhatRunsOnceStandsOnTopOfWhatIsKept) {
  Problem problem = keptForward();
  Lifetimes lifetimes(problem);
  std::vector<std::pair<int, int>> lives;
  for (const Lifetimes::Interval &life : lifetimes.life)
    lives.emplace_back(life.start, life.end);
  EXPECT_THAT(lives, ElementsAre(std::pair(1, 6), std::pair(3, 5), std::pair(0, 7)));
}

/// Seconds of a line in the plan of so many samples a micro-step; 0 where there is none.
double secondsOf(const std::string &name, int64_t m) {
  Problem problem = keptForward();
  Result<DeviceProfile> profile = loadProfile("h100");
  Options options;
  options.batch = 8;
  options.microBatch = {MicroBatch::Forced, m};
  Result<Search> search = solve(problem, *profile, options);
  EXPECT_TRUE(search && search->plan);
  if (!search || !search->plan)
    return -1;
  Status verified = verify(problem, *search->plan);
  EXPECT_TRUE(verified) << verified.error().message;
  EXPECT_TRUE(search->plan->recompute.empty());
  for (const TimeLine &line : search->plan->time)
    if (line.name == name)
      return line.seconds;
  return 0;
}

TEST(KeptForward, TheOthersRunOneMicroStepLess) {
  EXPECT_EQ(secondsOf("encode", 8), 0);
  double three = secondsOf("encode", 2), one = secondsOf("encode", 4);
  EXPECT_GT(one, 0);
  EXPECT_NEAR(three / one, 1.5, 0.01); // 3 of 2 samples, 1 of 4
}

TEST(KeptForward, WhatRunsOnceIsCountedOnce) {
  double all = secondsOf("once per step", 8), parts = secondsOf("once per step", 1);
  EXPECT_GT(all, 0);
  EXPECT_DOUBLE_EQ(all, parts);
}

TEST(KeptForward, WhatRunsOnceIsForward) {
  std::string text = kKept;
  text.replace(text.find("bytes=1073741824 once"), 21, "bytes=1073741824 backward once");
  Result<Problem> problem = parseProblem(text, "kept");
  ASSERT_FALSE(problem);
  EXPECT_NE(
      problem.error().message.find("command 8 is of a phase that runs once, but not in the forward part"),
      std::string::npos)
      << problem.error().message;
}

} // namespace
