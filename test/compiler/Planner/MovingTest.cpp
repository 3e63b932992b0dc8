// SPDX-License-Identifier: Apache-2.0
// Copies over the host link beside the commands: by hand, and by the promise that nothing waits for them.
#include "compiler/Planner/Moving.h"
#include "compiler/Planner/Explain.h"
#include "compiler/Planner/HostLink.h"
#include "compiler/Planner/Solve.h"
#include "compiler/Planner/Verify.h"
#include "test/compiler/Planner/TransformerProblem.h"
#include "test/fuzz/TextDamage.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace accum::planner;
using testing::HasSubstr;

namespace {

/// What a micro-step of ten places of a second each waits.
double waiting(const std::vector<LinkTrip> &trips, const std::vector<double> &seconds) {
  std::vector<double> begins;
  for (int place = 0; place <= 10; ++place)
    begins.push_back(place);
  return LinkSchedule(trips).use(begins, seconds).waiting;
}

TEST(HostLink, WaitsForWhatHasNotArrived) {
  // Made by 0, out in [1, 2), back from behind 2, there at 4.
  EXPECT_EQ(waiting({{0, 2, 2, 4}}, {1}), 0);
  EXPECT_EQ(LinkSchedule(std::vector<LinkTrip>{{0, 2, 2, 4}})
                .use(std::vector<double>(5, 0), std::vector<double>{1})
                .busy,
            2);
  // Out until 2.5, which place 2 waits for; in from behind it, at 3.5, until 5, where place 4 would begin
  // at 4.5.
  EXPECT_DOUBLE_EQ(waiting({{0, 2, 2, 4}}, {1.5}), 0.5 + 0.5);
  // The way back begins once the way out has ended, at 3.
  EXPECT_DOUBLE_EQ(waiting({{0, 5, 0, 4}}, {2}), 1);
}

TEST(HostLink, CarriesOneCopyAtATimeInEachDirection) {
  // Two values made by 0 and 1: out at 3 and at 5, where place 4 waits for the second; back by 9 and 11, or 8
  // and 10.
  EXPECT_DOUBLE_EQ(waiting({{0, 3, 6, 10}, {1, 4, 5, 9}}, {2, 2}), 1);
  EXPECT_DOUBLE_EQ(waiting({{0, 3, 7, 10}, {1, 5, 5, 8}}, {2, 2}), 0);
  // Directions do not disturb each other: the first comes back in [3, 5), while the second goes in [3, 5).
  EXPECT_DOUBLE_EQ(waiting({{0, 3, 2, 5}, {2, 5, 5, 8}}, {2, 2}), 0);
}

class Moved : public testing::Test {
protected:
  Moved() {
    profile.hostLinkBandwidth = 50e9;
    options.offload = "activations";
  }
  Search search(int64_t budget) {
    options.budget = budget;
    Search found = *solve(problem, profile, options);
    if (found.plan) {
      Status status = verify(problem, *found.plan);
      EXPECT_TRUE(status) << status.error().message;
    }
    return found;
  }

  Problem problem =
      transformerProblem({.layers = 6, .hidden = 2048, .heads = 16, .sequence = 1024, .vocabulary = 32000});
  DeviceProfile profile = *loadProfile("h100");
  Options options{.batch = 32, .microBatch = {MicroBatch::Forced, 8, 8}};
};

TEST_F(Moved, ActivationsCostLessThanRunningCommandsAgain) {
  Search whole = search(int64_t{1} << 40);
  EXPECT_TRUE(whole.plan->moves.empty());
  int64_t budget = whole.plan->counted() - whole.plan->scratch / 4;
  Search moved = search(budget);
  options.offload = "none";
  Search kept = search(budget);
  ASSERT_TRUE(moved.plan && kept.plan);
  EXPECT_FALSE(moved.plan->moves.empty());
  EXPECT_EQ(moved.plan->offload, "activations");
  EXPECT_LT(moved.plan->seconds() - whole.plan->seconds(),
            (kept.plan->seconds() - whole.plan->seconds()) / 2);
  std::string text = explainPlan(moved);
  EXPECT_THAT(text, HasSubstr("moved to host memory and back"));
  EXPECT_THAT(text, HasSubstr("offload of activations"));
}

TEST_F(Moved, NothingWaitsForCopies) {
  Search whole = search(int64_t{1} << 40);
  for (int64_t part : {8, 4, 3, 2}) {
    Search moved = search(whole.plan->counted() - whole.plan->scratch / part);
    ASSERT_TRUE(moved.plan) << part;
    Problem runs = *problemThatRuns(problem, *moved.plan);
    TimeModel times(runs, profile, 1);
    RegionTime micro = times.regions(8)[static_cast<int>(Region::Micro)];
    double traffic = times.throughMemory(2 * static_cast<double>(moved.movedBytes));
    EXPECT_NEAR(movingTime(runs, times, 8).exposed, traffic * micro.memory / micro.total, 1e-9 * micro.total);
  }
}

TEST_F(Moved, PlansAreWrittenAndRead) {
  Search whole = search(int64_t{1} << 40);
  EXPECT_THAT(toJson(*whole.plan), testing::Not(HasSubstr("moves")));
  Plan plan = *search(whole.plan->counted() - whole.plan->scratch / 3).plan;
  Result<Plan> read = parsePlan(toJson(plan), "plan.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->moves, plan.moves);
  EXPECT_TRUE(verify(problem, *read));
  read->offload = "optimizer";
  EXPECT_THAT(verify(problem, *read).error().message, HasSubstr("contradict"));
  read->offload = "activations";
  read->moves.clear();
  EXPECT_THAT(verify(problem, *read).error().message, HasSubstr("contradict"));
  plan.moves.front().in = plan.moves.front().out - 1;
  EXPECT_FALSE(verify(problem, plan));
}

TEST_F(Moved, DamagedPlansAreReadAndCheckedOrRefused) {
  Search whole = search(int64_t{1} << 40);
  std::string text = toJson(*search(whole.plan->counted() - whole.plan->scratch / 3).plan);
  // What is damaged is the list of moves and what stands around it: most of the file is offsets.
  size_t from = text.find("\"moves\""), size = std::min<size_t>(text.size() - from, 2000);
  ASSERT_NE(from, std::string::npos);
  test::TextDamage damage(1);
  int read = 0, right = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string other = text;
    other.replace(from, size, damage(text.substr(from, size)));
    Result<Plan> plan = parsePlan(other, "damaged");
    read += bool(plan);
    right += plan && verify(problem, *plan);
  }
  EXPECT_GT(read, right); // numbers that are numbers, and wrong
  EXPECT_LT(read, 1000);
}

TEST_F(Moved, TakesNoMoreThanTheHostHas) {
  Search whole = search(int64_t{1} << 40);
  int64_t budget = whole.plan->counted() - whole.plan->scratch / 3;
  Search moved = search(budget);
  profile.hostMemory = moved.movedBytes / 2;
  Search less = search(budget);
  ASSERT_TRUE(less.plan);
  EXPECT_GT(less.movedBytes, 0);
  EXPECT_LE(less.movedBytes, profile.hostMemory);
  EXPECT_GT(less.plan->seconds(), moved.plan->seconds());
  options.offload = "optimizer";
  profile.hostMemory = 1 << 20;
  Result<Search> none = solve(problem, profile, options);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("lets a device have 1.0 MiB"));
}

TEST_F(Moved, NeedsALink) {
  profile.hostLinkBandwidth = 0;
  EXPECT_EQ(solve(problem, profile, options).error().slug, "usage");
  options.offload = "auto";
  options.budget = int64_t{1} << 40;
  EXPECT_TRUE(solve(problem, profile, options)->plan);
}

} // namespace
