// SPDX-License-Identifier: Apache-2.0
// Expansion: what runs computes the same values, in memory that is shared as planned; the checker's own
// expansion agrees.
#include "compiler/Planner/Problem/Recompute.h"
#include "compiler/Planner/Packing/Packing.h"
#include "compiler/Planner/Problem/Plan.h"
#include "compiler/Planner/Search/LoadModel.h"
#include "compiler/Planner/Search/RepeatedWindows.h"
#include "compiler/Planner/Search/Storage.h"
#include "compiler/Planner/Verify/Replay.h"
#include "compiler/Planner/Verify/Verify.h"
#include "test/compiler/Planner/RandomProblem.h"
#include "test/compiler/Planner/SymbolicMachine.h"
#include "test/compiler/Planner/TransformerProblem.h"
#include <algorithm>
#include <climits>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

using namespace accum::planner;
using testing::HasSubstr;

namespace {

/// A random subset of what may run again, with everything that asks for nothing dropped.
Choice randomChoice(Random &random, const Problem &problem, const Recomputation &flow) {
  Choice choice{std::vector<char>(problem.commands.size(), 0), std::vector<int>(problem.commands.size(), 0)};
  for (char &chosen : choice.recomputed)
    chosen = draw(random, 0, 2) == 0;
  std::vector<int> before = flow.positions(choice.recomputed);
  for (size_t index = 0; index < before.size(); ++index)
    choice.recomputed[index] = before[index] == kNoIndex ? 0 : 1;
  return choice;
}

/// Packs what runs, and writes it down as the plan of one micro-batch of m.
Plan planOf(const Problem &problem, const Problem &runs, const Choice &choice, int64_t m,
            std::vector<int64_t> &offsets) {
  Layout layout = layOut(runs, Lifetimes(runs), m, 64);
  Packing packing = pack(layout.blocks);
  Plan plan{.batch = m, .cut = {m, 1, m}, .alignment = 64, .budget = INT64_MAX};
  plan.scratch = plan.lowerBound = packing.height;
  plan.memory = {{MemoryClass::Scratch, "scratch", packing.height}};
  for (const FixedMemory &fixed : problem.fixed) {
    MemoryClass kind = fixed.kind == FixedKind::State ? MemoryClass::State : MemoryClass::Inputs;
    plan.memory.push_back({kind, fixed.name, fixed.bytes.at(m)});
    plan.state += fixed.kind == FixedKind::State ? fixed.bytes.at(m) : 0;
  }
  for (size_t index = 0; index < problem.commands.size(); ++index)
    if (choice.recomputed[index] != 0)
      plan.recompute.push_back(problem.commands[index].id);
  for (size_t index = 0; index < runs.buffers.size(); ++index) {
    int block = layout.blockOfBuffer[index];
    offsets.push_back(block == kNoIndex ? 0 : packing.offsets[block]);
    plan.slots.emplace_back(runs.buffers[index].id, offsets.back());
  }
  for (size_t index = 0; index < runs.commands.size(); ++index)
    if (int block = layout.blockOfWorkspace[index]; block != kNoIndex)
      plan.slots.emplace_back(std::to_string(runs.commands[index].id) + ":w", packing.offsets[block]);
  return plan;
}

struct Counts {
  int repetitions = 0;
  int exact = 0, high = 0; ///< peaks that are what is packed at most, and that are above it
};

void expectSameValues(Random &random, const Problem &problem, Counts &counts) {
  Recomputation flow(problem);
  Choice choice = randomChoice(random, problem, flow);
  Problem runs = expand(problem, choice);
  counts.repetitions += static_cast<int>(std::ranges::count(choice.recomputed, 1));
  int64_t m = draw(random, 1, 9);
  std::vector<int64_t> offsets;
  Plan plan = planOf(problem, runs, choice, m, offsets);
  auto whole = SymbolicMachine(problem, m).run(nullptr), again = SymbolicMachine(runs, m).run(&offsets);
  ASSERT_EQ(whole, again);
  Result<Problem> played = replay(problem, plan);
  ASSERT_TRUE(played) << played.error().message;
  ASSERT_EQ(played->commands.size(), runs.commands.size());
  for (size_t index = 0; index < runs.commands.size(); ++index)
    ASSERT_EQ(played->commands[index].id, runs.commands[index].id);
  Status status = verify(problem, plan);
  ASSERT_TRUE(status) << status.error().message;
  // The curve that the search compares is a lower bound, near what packs.
  choice.variants.assign(problem.commands.size(), 0);
  LoadModel loads(problem, flow, m, m);
  int64_t load = loads.peak(RunningOrder(flow.positions(choice.recomputed)), choice).at(m);
  int64_t exact = maxLoad(layOut(runs, Lifetimes(runs), m, 1).blocks);
  counts.exact += load == exact ? 1 : 0;
  counts.high += load > exact ? 1 : 0;
}

TEST(Recompute, KeepsAllValuesOfRandomProblems) {
  Random random(61);
  Counts counts;
  for (int round = 0; round < 1000; ++round) {
    SCOPED_TRACE(round);
    ASSERT_NO_FATAL_FAILURE(
        expectSameValues(random, randomProblem(random, static_cast<int>(draw(random, 2, 24))), counts));
  }
  EXPECT_GT(counts.repetitions, 100);
}

TEST(Recompute, KeepsAllValuesOfRandomSteps) {
  Random random(62);
  Counts counts;
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(round);
    Problem problem = randomStep(random, static_cast<int>(draw(random, 2, 20)), 1, 0);
    ASSERT_NO_FATAL_FAILURE(expectSameValues(random, problem, counts));
  }
  EXPECT_GT(counts.repetitions, 1000);
  EXPECT_GT(counts.exact, 390);
  EXPECT_EQ(counts.high, 0);
}

/// x0 -> a -> b -> c -> loss; backward reads c, then b, then a.
Problem chain() {
  Problem problem;
  for (int id = 0; id < 7; ++id)
    problem.commands.push_back(Command{.id = id, .kernel = "k", .backward = id >= 4});
  problem.commands[3].once = true;
  auto value = [&](const char *id, int producer, std::vector<int> users) {
    problem.buffers.push_back(Buffer{.id = id, .bytes = {0, 64, {}}, .producer = producer, .users = users});
  };
  value("0:0", 0, {1, 6});
  value("1:0", 1, {2, 5});
  value("2:0", 2, {3, 4});
  value("4:0", 4, {5});
  value("5:0", 5, {6});
  return problem;
}

std::vector<int64_t> idsOf(const Problem &problem) {
  std::vector<int64_t> ids;
  for (const Command &command : problem.commands)
    ids.push_back(command.id);
  return ids;
}

TEST(Recompute, StandsRightBeforeItsFirstLateUser) {
  Problem problem = chain();
  problem.cloneIds = 100;
  auto order = [&](std::vector<char> chosen) { return idsOf(expand(problem, {std::move(chosen), {}})); };
  using testing::ElementsAre;
  EXPECT_THAT(order({0, 1, 0, 0, 0, 0, 0}), ElementsAre(0, 1, 2, 3, 4, 101, 5, 6));
  // A chain of repetitions stands before the first that needs it, in order.
  EXPECT_THAT(order({0, 1, 1, 0, 0, 0, 0}), ElementsAre(0, 1, 2, 3, 101, 102, 4, 5, 6));
  EXPECT_THAT(order({1, 0, 1, 0, 0, 0, 0}), ElementsAre(0, 1, 2, 3, 102, 4, 5, 100, 6));
  // What has an effect, and what is backward, never runs again.
  EXPECT_THAT(order({0, 0, 0, 1, 1, 1, 1}), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST(Recompute, TheCheckerRefusesWhatIsNotAllowed) {
  Problem problem = chain();
  auto refused = [&](std::vector<int64_t> ids) {
    Result<Problem> played = replay(problem, Plan{.recompute = std::move(ids)});
    return played ? std::string("accepted") : played.error().message;
  };
  EXPECT_EQ(refused({1}), "accepted");
  EXPECT_THAT(refused({9}), HasSubstr("command 9 of the recomputed ones is unknown"));
  EXPECT_THAT(refused({1, 1}), HasSubstr("stands there twice"));
  EXPECT_THAT(refused({3}), HasSubstr("command 3 may not run again"));
  EXPECT_THAT(refused({5}), HasSubstr("command 5 may not run again"));
  problem.buffers[1].users = {2};
  EXPECT_THAT(refused({1}), HasSubstr("command 1 runs again, but nothing backward needs it"));
  problem = chain();
  problem.buffers[1].wholeStep = true;
  EXPECT_THAT(refused({1}), HasSubstr("lives beyond the micro-step"));
  problem = chain();
  problem.buffers.push_back(Buffer{.id = "new", .bytes = {0, 64, {}}, .producer = 2, .aliasOf = 0});
  EXPECT_THAT(refused({1}), HasSubstr("buffer 0:0 is overwritten"));
  EXPECT_THAT(refused({2}), HasSubstr("command 2 overwrites a value"));
}

TEST(Windows, AreTheLayersOfATransformer) {
  Problem problem = transformerProblem(gpt2Small());
  auto first =
      std::ranges::find_if(problem.commands, [](const Command &command) { return command.backward; });
  int forward = static_cast<int>(first - problem.commands.begin());
  std::vector<WindowRun> runs = repeatedWindows(problem, 0, forward);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].count, 12);
  EXPECT_EQ(runs[0].period, 10);
}

TEST(Windows, AreDisjointAndReallyRepeat) {
  Random random(63);
  for (int round = 0; round < 200; ++round) {
    Problem problem;
    for (int64_t count = draw(random, 0, 40); count > 0; --count) {
      problem.commands.push_back(Command{.id = static_cast<int64_t>(problem.commands.size())});
      problem.commands.back().kernel = std::string(1, static_cast<char>('a' + draw(random, 0, 2)));
    }
    int end = 0;
    for (const WindowRun &run : repeatedWindows(problem, 0, static_cast<int>(problem.commands.size()))) {
      EXPECT_GE(run.begin, end);
      end = run.begin + run.period * run.count;
      EXPECT_GT(run.count, 1);
      for (int at = run.begin; at + run.period < end; ++at)
        EXPECT_EQ(problem.commands[at].kernel, problem.commands[at + run.period].kernel);
    }
    EXPECT_LE(end, static_cast<int>(problem.commands.size()));
  }
}

} // namespace
