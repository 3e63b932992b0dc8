// SPDX-License-Identifier: Apache-2.0
// What makes a profile of times: medians, grids, costs, and the file of samples.
#include "tools/accum-calibrate/Costs.h"
#include "tools/accum-calibrate/Grid.h"
#include "tools/accum-calibrate/Misses.h"
#include "tools/accum-calibrate/Remaining.h"
#include "tools/accum-calibrate/Results.h"
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace accum::calibrate;

namespace {

TEST(Sample, IsTheMedianAndTheQuartiles) {
  Sample odd = summarize({5, 1, 3, 2, 4});
  EXPECT_EQ(odd.least, 1);
  EXPECT_EQ(odd.median, 3);
  EXPECT_DOUBLE_EQ(odd.spread, 2.0 / 3);
  EXPECT_EQ(odd.repeats, 5);
  EXPECT_EQ(summarize({1, 3, 100, 2}).median, 2.5);
  EXPECT_EQ(summarize({7}).spread, 0);
}

/// A machine on which everything takes exactly as long as it says.
struct Machine {
  double seconds = 0;
  int runs = 0;
  Clock clock() {
    return [this] { return seconds; };
  }
  std::function<void()> work(double each) {
    return [this, each] {
      ++runs;
      seconds += each;
    };
  }
};

TEST(Sample, RepeatsWhatIsShortManyTimes) {
  Machine machine;
  Sample taken = sample(machine.work(1e-6), 5, 0.015, machine.clock());
  EXPECT_EQ(taken.repeats, 200) << "no more than that";
  EXPECT_EQ(machine.runs, 1 + 200 * 21) << "20 microseconds at a time";
  EXPECT_NEAR(taken.median, 1e-6, 1e-12);
  machine.runs = 0;
  EXPECT_EQ(sample(machine.work(0), 5, 0.015, machine.clock()).median, 0) << "less than the clock shows";
  EXPECT_EQ(machine.runs, 1 + 200 * 201);
}

TEST(Sample, RepeatsWhatIsLongAFewTimes) {
  for (auto [each, repeats] : {std::pair(1e-3, 8), {2e-3, 5}, {1.0, 3}}) {
    Machine machine;
    Sample taken = sample(machine.work(each), 5, 0.015, machine.clock());
    EXPECT_EQ(taken.repeats, repeats) << each;
    EXPECT_EQ(machine.runs, 1 + repeats) << "one of them to warm up";
    EXPECT_NEAR(taken.least, each, 1e-9);
  }
}

TEST(Sample, BesideAReferenceAMachinesSpeedDoesNotCount) {
  auto taken = [](double factor) {
    Machine machine;
    return sampleBeside(machine.work(2e-3 * factor), [=] { return 1e-3 * factor; }, 5, machine.clock());
  };
  Sample fast = taken(1), slow = taken(4);
  EXPECT_EQ(fast.reference, 1e-3);
  EXPECT_EQ(slow.reference, 4e-3);
  EXPECT_NEAR(fast.median, 2e-3, 1e-9);
  EXPECT_NEAR(slow.median, 8e-3, 1e-9) << "at the speed that it was taken at";
  EXPECT_NEAR(atSpeed(slow, fast.reference).median, 2e-3, 1e-9) << "and brought to another one";
  EXPECT_EQ(atSpeed(slow, fast.reference).reference, fast.reference);
  EXPECT_EQ(atSpeed({.least = 1, .median = 2}, 7).median, 2) << "nobody looked how fast it was";
}

/// Three turns at full speed, two at a quarter of it: the sample is that of full speed.
TEST(Sample, BesideAReferenceASlowTurnDoesNotCount) {
  Machine machine;
  int turn = 0;
  double factor = 1;
  auto body = [&] { machine.seconds += 0.01 * factor; };
  auto reference = [&] {
    factor = turn++ >= 4 ? 4 : 1;
    return 1e-3 * factor;
  };
  Sample taken = sampleBeside(body, reference, 5, machine.clock());
  EXPECT_EQ(taken.repeats, 5);
  EXPECT_EQ(taken.reference, 1e-3);
  EXPECT_NEAR(taken.median, 0.01, 1e-9);
}

TEST(Grid, EachPointOnce) {
  for (bool coarse : {false, true})
    for (const Grid &grid : makeGrids(coarse)) {
      std::set<std::array<int64_t, 3>> seen;
      for (size_t index = 0; index < grid.points(); ++index)
        seen.insert(grid.point(index));
      EXPECT_EQ(seen.size(), grid.points()) << grid.call;
      if (grid.points() > grid.axes[0].size()) // the others have more than one point
        EXPECT_EQ(grid.point(1)[0], grid.axes[0][0]) << "the last axis is the fastest";
    }
}

TEST(Misses, AreSharesOfWhatMemoryAdds) {
  accum::planner::MissCurve curve = missCurve({1, 2, 3, 4, 5}, {10, 9, 15, 14, 20});
  EXPECT_EQ(curve.bytes, (std::vector<int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(curve.missed, (std::vector<double>{0, 0, 0.5, 0.5, 1})) << "ascending whatever the noise";
  EXPECT_TRUE(missCurve({1, 2}, {10, 10.2}).bytes.empty()) << "nothing to tell apart";
  EXPECT_TRUE(missCurve({1, 2}, {10, 8}).bytes.empty());
}

TEST(Remaining, ScalesGuesses) {
  Remaining remaining;
  for (double guess : {1.0, 2.0, 5.0})
    remaining.expect(guess);
  EXPECT_FALSE(remaining.seconds());
  remaining.finish(1, std::nullopt); // was there already
  EXPECT_FALSE(remaining.seconds());
  remaining.finish(2, 6.0);
  EXPECT_DOUBLE_EQ(*remaining.seconds(), 15);
  remaining.finish(5, 1.0);
  EXPECT_EQ(*remaining.seconds(), 0);
}

TEST(Costs, AreFoundAgain) {
  std::map<std::string, double> truth = {{"bytes", 3e-11}, {"exp", 2e-10}, {"norm", 1.2e-9}, {"free", 0}};
  std::mt19937 random(5);
  std::uniform_real_distribution<double> amount(1e3, 1e6);
  std::vector<Observation> kernels;
  for (int i = 0; i < 40; ++i) {
    Observation &kernel = kernels.emplace_back();
    for (const auto &[thing, cost] : truth)
      if (thing == "bytes" || random() % 2 == 0)
        kernel.seconds += cost * (kernel.amounts[thing] = amount(random) * (thing == "bytes" ? 4 : 1));
  }
  std::map<std::string, double> costs = fitCosts(kernels);
  for (const auto &[thing, cost] : truth)
    EXPECT_NEAR(costs[thing], cost, 1e-13) << thing;
  EXPECT_LT(meanError(costs, kernels), 1e-4);
  for (Observation &kernel : kernels) // noise of a tenth: never negative, and no worse than the truth
    kernel.seconds *= 0.9 + 0.2 * (random() % 1000) / 1000.0;
  costs = fitCosts(kernels);
  for (const auto &[thing, cost] : costs)
    EXPECT_GE(cost, 0) << thing;
  EXPECT_LT(meanError(costs, kernels), 0.07);
}

TEST(Results, ContinueWhereTheyStopped) {
  std::string path = testing::TempDir() + "results.partial";
  std::remove(path.c_str());
  {
    auto results = Results::open(path, "machine A");
    ASSERT_TRUE(results);
    EXPECT_EQ(results->found(), 0u);
    ASSERT_TRUE(results->add("one", {1, 2, 0.5, 3, 7}));
    ASSERT_TRUE(results->add("two", {4, 5, 0, 6}));
    EXPECT_EQ(Results::open(path, "machine A").error().slug, "in-use");
  }
  std::ofstream(path, std::ios::app)
      << R"({"key": "edited", "min": 1, "median": "2", "spread": 0, "repeats": 3, "reference": 1})"
      << "\n{\"key\": \"torn\", \"med";
  {
    auto results = Results::open(path, "machine A");
    EXPECT_EQ(results->found(), 2u);
    ASSERT_TRUE(results->find("one"));
    EXPECT_EQ(results->find("one")->median, 2);
    EXPECT_EQ(results->find("one")->spread, 0.5);
    EXPECT_EQ(results->find("one")->reference, 7);
    EXPECT_FALSE(results->find("edited"));
    EXPECT_EQ(results->reference(), 7) << "of those that were timed beside one";
    EXPECT_FALSE(results->find("torn"));
    ASSERT_TRUE(results->add("torn", {1, 1, 0, 1}));
  }
  EXPECT_EQ(Results::open(path, "machine A")->found(), 3u);
  EXPECT_EQ(Results::open(path, "machine B")->found(), 0u) << "measured elsewhere";
  EXPECT_EQ(Results::open("/nowhere/results", "A").error().slug, "output-failed");
}

} // namespace
