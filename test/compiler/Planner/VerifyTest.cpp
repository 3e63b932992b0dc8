// SPDX-License-Identifier: Apache-2.0
// `verify` catches every kind of corrupted plan, and agrees with a pairwise check on random corruption.
#include "compiler/Planner/Verify/Verify.h"
#include "compiler/Planner/Search/Solve.h"
#include "test/compiler/Planner/RandomProblem.h"
#include "test/compiler/Planner/TransformerProblem.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace accum::planner;
using testing::HasSubstr;

namespace {

class Verify : public testing::Test {
protected:
  Verify() {
    problem = transformerProblem({.layers = 2, .hidden = 64, .heads = 2, .sequence = 32, .vocabulary = 101});
    plan = *solve(problem, *loadProfile("h100"), {.batch = 24, .devices = 2})->plan;
  }

  void expectInvalid(const Plan &corrupted, const char *what) {
    Status status = verify(problem, corrupted);
    ASSERT_FALSE(status) << "expected: " << what;
    EXPECT_THAT(status.error().message, HasSubstr(what));
    EXPECT_EQ(status.error().slug, "invalid-plan");
  }

  Problem problem;
  Plan plan;
};

TEST_F(Verify, AcceptsTheSolversPlan) { EXPECT_TRUE(verify(problem, plan)); }

TEST_F(Verify, SeesWrongSlots) {
  Plan bad = plan;
  bad.slots.pop_back();
  expectInvalid(bad, "has no slot");
  bad = plan;
  bad.slots.push_back(bad.slots.front());
  expectInvalid(bad, "a slot is given twice");
  bad = plan;
  bad.slots[3].second += 1;
  expectInvalid(bad, "misaligned or outside");
  bad = plan;
  bad.slots[3].second = plan.scratch;
  expectInvalid(bad, "misaligned or outside");
  bad = plan;
  bad.slots[3].second = -256;
  expectInvalid(bad, "misaligned or outside");
  bad = plan;
  for (auto &slot : bad.slots)
    slot.second = 0;
  expectInvalid(bad, "overlap while both are alive");
}

TEST_F(Verify, SeesWrongSums) {
  Plan bad = plan;
  bad.memory[0].bytes += 1;
  expectInvalid(bad, "do not add up");
  bad = plan;
  bad.budget = plan.counted() - 1;
  expectInvalid(bad, "more than its budget");
  bad = plan;
  std::erase_if(bad.memory, [](const MemoryLine &line) { return line.name == "inputs"; });
  expectInvalid(bad, "no memory line has");
  bad = plan;
  bad.lowerBound = plan.scratch + 1;
  expectInvalid(bad, "smaller than its lower bound");
}

TEST_F(Verify, SeesWrongCuts) {
  Plan bad = plan;
  bad.cut.steps += 1;
  expectInvalid(bad, "do not cut 12 samples per device");
  bad = plan;
  bad.cut.last = 0;
  expectInvalid(bad, "the last micro-step holds");
  bad = plan;
  bad.cut = {13, 1, 12};
  expectInvalid(bad, "do not cut 12 samples per device");
  bad = plan;
  bad.recompute = {3};
  expectInvalid(bad, "has no slot");
  bad = plan;
  bad.variants = {{3, "fast"}};
  expectInvalid(bad, "command 3 has no variant fast");
  bad = plan;
  bad.shard = "zero9";
  expectInvalid(bad, "is not a known word");
}

/// A loop of two commands with a buffer from the prologue.
Problem loopProblem() {
  Problem problem;
  problem.commands = {Command{.id = 1, .phase = usual::kPrologue}, Command{.id = 2}, Command{.id = 3}};
  problem.buffers = {Buffer{.id = "table", .bytes = {256, 0, {}}, .producer = 0, .users = {1}},
                     Buffer{.id = "x", .bytes = {256, 0, {}}, .producer = 1, .users = {2}},
                     Buffer{.id = "y", .bytes = {256, 0, {}}, .producer = 2}};
  return problem;
}

Plan planOf(const Problem &problem, std::vector<std::pair<std::string, int64_t>> slots, int64_t scratch) {
  Plan plan{.alignment = 256, .scratch = scratch, .budget = scratch};
  plan.slots = std::move(slots);
  plan.memory = {{MemoryClass::Scratch, "activations", scratch}};
  return plan;
}

TEST(VerifyLoops, AValueFromOutsideLivesThroughTheLoop) {
  Problem problem = loopProblem();
  EXPECT_TRUE(verify(problem, planOf(problem, {{"table", 0}, {"x", 256}, {"y", 512}}, 768)));
  EXPECT_FALSE(verify(problem, planOf(problem, {{"table", 0}, {"x", 256}, {"y", 0}}, 768)));
}

TEST(VerifyLoops, InPlaceNeedsAnOfferAndADeath) {
  Problem problem = loopProblem();
  Plan inPlace = planOf(problem, {{"table", 0}, {"x", 256}, {"y", 256}}, 512);
  EXPECT_FALSE(verify(problem, inPlace));
  problem.buffers[2].mayAlias = {1};
  EXPECT_TRUE(verify(problem, inPlace));
  problem.buffers[2].bytes.fixed = 512;
  EXPECT_FALSE(verify(problem, inPlace));
  problem.buffers[2] = {.id = "y", .bytes = {256, 0, {}}, .producer = 2, .mayAlias = {0}};
  problem.buffers[0].users = {2};
  Plan overTable = planOf(problem, {{"table", 0}, {"x", 256}, {"y", 0}}, 512);
  EXPECT_FALSE(verify(problem, overTable)) << "the next iteration reads the table again";
}

/// Corrupts one slot at random: verify may only accept if it still is a packing of what lives together.
TEST(VerifyRandom, AgreesWithThePairwiseCheck) {
  Random random(21);
  DeviceProfile profile = *loadProfile("h100");
  int accepted = 0, refused = 0;
  for (int round = 0; round < 2000; ++round) {
    Problem problem = randomProblem(random, 12);
    for (Buffer &buffer : problem.buffers)
      buffer.mayAlias.clear(), buffer.aliasOf = kNoIndex, buffer.wholeStep = false;
    for (Command &command : problem.commands)
      command.phase = usual::kUpdate, command.tail = false, command.variants[0].workspace = {};
    Plan plan = *solve(problem, profile, {.batch = 1})->plan;
    if (plan.slots.empty())
      continue;
    plan.slots[random() % plan.slots.size()].second = 256 * draw(random, 0, plan.scratch / 256);
    std::map<std::string, int64_t> slots(plan.slots.begin(), plan.slots.end());
    std::vector<Rectangle> rectangles;
    Packing packing{.height = plan.scratch};
    for (const Buffer &buffer : problem.buffers) {
      int last = buffer.users.empty() ? buffer.producer
                                      : *std::max_element(buffer.users.begin(), buffer.users.end());
      int first = buffer.producer == kNoIndex ? 0 : buffer.producer;
      if (last == kNoIndex || buffer.bytes.at(1) == 0)
        continue;
      rectangles.push_back({first, last + 1, buffer.bytes.at(1)});
      packing.offsets.push_back(slots[buffer.id]);
    }
    bool valid = isPacking(rectangles, packing);
    ASSERT_EQ(static_cast<bool>(verify(problem, plan)), valid) << "round " << round;
    (valid ? accepted : refused) += 1;
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

} // namespace
