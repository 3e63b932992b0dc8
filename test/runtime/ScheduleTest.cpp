// SPDX-License-Identifier: Apache-2.0
// Schedules against torch's and transformers' values, and what users may write wrongly.
#include "runtime/options/Schedule.h"
#include "runtime/session/SpikeDetector.h"
#include <cmath>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

using namespace accum::runtime;
using testing::HasSubstr;

namespace {

std::string written(const std::string &text) {
  std::string path = testing::TempDir() + "/schedule.csv";
  std::ofstream(path) << text;
  return path;
}

void expectRefused(const ScheduleOptions &options, const char *what, int exitCode = kExitUsage) {
  auto made = Schedule::make(options, 100, 0.1);
  ASSERT_FALSE(made) << what;
  EXPECT_THAT(made.error().message, HasSubstr(what));
  EXPECT_EQ(made.error().exitCode, exitCode);
}

} // namespace

/// test/models/make/make-schedules.py wrote them.
TEST(Schedule, EqualsTheFrameworks) {
  std::ifstream file(ACCUM_SCHEDULES);
  std::string line, field;
  std::getline(file, line);
  int compared = 0;
  for (; std::getline(file, line); ++compared) {
    std::istringstream fields(line);
    std::vector<std::string> all;
    while (std::getline(fields, field, ','))
      all.push_back(field);
    ASSERT_EQ(all.size(), 7u) << line;
    ScheduleOptions options{.schedule = all[0], .warmup = all[2]};
    if (all[3] != "0.0")
      options.lrFloor = std::to_string(100 * std::stod(all[3])) + "%";
    if (all[0] == "wsd")
      options.decaySteps = all[4];
    auto schedule = Schedule::make(options, std::stoull(all[1]), 3e-4);
    ASSERT_TRUE(schedule) << line << ": " << schedule.error().message;
    double expected = std::stod(all[6]);
    ASSERT_NEAR(schedule->factor(std::stoull(all[5])), expected, 1e-12 * std::max(expected, 1e-3)) << line;
  }
  EXPECT_GT(compared, 400);
}

TEST(Schedule, ReadsAFile) {
  auto schedule = Schedule::make({.schedule = written("# step,factor\n2,0.5\n4,1\n\n10,0.25\r\n")}, 20, 1);
  ASSERT_TRUE(schedule) << schedule.error().message;
  for (auto [step, factor] :
       {std::pair(0, 0.5), {2, 0.5}, {3, 0.75}, {4, 1.0}, {6, 0.75}, {10, 0.25}, {99, 0.25}})
    EXPECT_DOUBLE_EQ(schedule->factor(uint64_t(step)), factor) << step;
}

TEST(Schedule, TakesFloorsAndLengthsInBothUnits) {
  auto percent = Schedule::make({"cosine", "2%", "10%", ""}, 1000, 6e-4);
  auto absolute = Schedule::make({"cosine", "20", "6e-5", ""}, 1000, 6e-4);
  ASSERT_TRUE(percent && absolute);
  for (uint64_t step : {0, 19, 20, 500, 999})
    EXPECT_NEAR(percent->factor(step), absolute->factor(step), 1e-15) << step;
  EXPECT_DOUBLE_EQ(percent->factor(19), 1);
  EXPECT_DOUBLE_EQ(percent->factor(20), 1);
  EXPECT_DOUBLE_EQ(percent->factor(999), 0.1);
  EXPECT_DOUBLE_EQ(percent->factor(5000), 0.1);
}

TEST(Schedule, RefusesWhatContradicts) {
  expectRefused({.schedule = "linear", .warmup = "100"},
                "a warm-up of 100 steps leaves nothing of a run of 100");
  expectRefused({.schedule = "wsd", .warmup = "60", .decaySteps = "40"}, "and a decay of 40 leave nothing");
  expectRefused({.schedule = "linear", .warmup = "-3"}, "--warmup is `-3`, expected a number of steps");
  expectRefused({.schedule = "linear", .warmup = "2.5"}, "--warmup is `2.5`");
  expectRefused({.schedule = "linear", .warmup = "200%"}, "--warmup is `200%`");
  expectRefused({.schedule = "cosine", .lrFloor = "0.2"}, "--lr-floor is 0.2, above --lr");
  expectRefused({.schedule = "cosine", .lrFloor = "nan"}, "--lr-floor is `nan`");
  expectRefused({.schedule = "constant", .lrFloor = "0.01"}, "--lr-floor belongs to a schedule that falls");
  expectRefused({.schedule = "linear", .decaySteps = "3"}, "--decay-steps belongs to --schedule wsd");
  expectRefused({.schedule = "/nowhere/s.csv"}, "cannot be read", kExitFile);
  expectRefused({.schedule = written("0,1\n0,2\n")}, ":2: step 0 does not come after", kExitFile);
  expectRefused({.schedule = written("0;1\n")}, ":1: `0;1` is not `step,factor`", kExitFile);
  expectRefused({.schedule = written("0,-1\n")}, ":1: `0,-1` is not", kExitFile);
  expectRefused({.schedule = written("# nothing\n")}, "holds no line", kExitFile);
  expectRefused({.schedule = written("0,1\n"), .warmup = "5"}, "are both given");
}

TEST(SpikeDetector, CountsDeviationsOfAFullWindow) {
  SpikeDetector detector;
  double sum = 0, squares = 0;
  for (int at = 0; at < 128; ++at) {
    double value = std::sin(at);
    sum += value;
    squares += value * value;
    EXPECT_EQ(detector.add(value), 0);
  }
  double mean = sum / 128, deviation = std::sqrt(squares / 128 - mean * mean);
  EXPECT_NEAR(detector.add(5), (5 - mean) / deviation, 1e-9);
  EXPECT_EQ(detector.values().size(), 128u);
  EXPECT_EQ(detector.values().back(), 5);
}

TEST(SpikeDetector, SeesNoneWhereAllAreEqual) {
  SpikeDetector detector;
  for (int at = 0; at < 200; ++at)
    EXPECT_EQ(detector.add(1), 0);
}
