// SPDX-License-Identifier: Apache-2.0
// How many threads there are by default, and what is said of slow steps.
#include "runtime/system/Processors.h"
#include "runtime/session/Describe.h"
#include "runtime/session/Pace.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace accum::runtime;
using testing::HasSubstr;

namespace {

/// A folder in place of the machine's root.
class Root : public testing::Test {
protected:
  void SetUp() override {
    root = testing::TempDir() + "processors-" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(root);
  }
  void TearDown() override { std::filesystem::remove_all(root); }
  void write(const std::string &path, const std::string &text) {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
  std::string root;
};

TEST_F(Root, QuotasOfVersionTwo) {
  EXPECT_FALSE(processorQuota(root));
  EXPECT_EQ(usableProcessors(root), affineProcessors());
  write("/proc/self/cgroup", "0::/user/job\n");
  write("/sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
  EXPECT_FALSE(processorQuota(root));
  write("/sys/fs/cgroup/user/cpu.max", "50000 100000\n"); // of a group around it
  EXPECT_EQ(processorQuota(root), 0.5);
  EXPECT_EQ(usableProcessors(root), 1);
  write("/sys/fs/cgroup/user/job/cpu.max", "20000 100000\n");
  EXPECT_EQ(processorQuota(root), 0.2);
  write("/sys/fs/cgroup/user/cpu.stat", "usage_usec 5\nnr_periods 9\nnr_throttled 4\nthrottled_usec 7\n");
  EXPECT_EQ(timesThrottled(root), 4u);
}

TEST_F(Root, QuotasOfVersionOne) {
  write("/proc/self/cgroup", "4:memory:/box\n3:cpu,cpuacct:/box\nbroken\n0::/\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(processorQuota(root));
  write("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "150000\n");
  write("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processorQuota(root), 1.5);
  EXPECT_EQ(usableProcessors(root), std::min(2, affineProcessors())); // rounded up
  write("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "900000000\n");
  EXPECT_EQ(usableProcessors(root), affineProcessors());
}

TEST_F(Root, OmpNumThreadsIsObeyed) {
  const char *before = std::getenv("OMP_NUM_THREADS");
  std::string kept = before ? before : "";
  for (auto [text, threads] : {std::pair{"3", 3}, {"5,2", 5}, {"1", 1}}) {
    setenv("OMP_NUM_THREADS", text, 1);
    EXPECT_EQ(askedThreads(), threads) << text;
    EXPECT_EQ(defaultThreads(), threads) << text;
  }
  for (const char *text : {"", "0", "-2", "many"}) {
    setenv("OMP_NUM_THREADS", text, 1);
    EXPECT_FALSE(askedThreads()) << text;
    EXPECT_EQ(defaultThreads(), usableProcessors()) << text;
  }
  before ? setenv("OMP_NUM_THREADS", kept.c_str(), 1) : unsetenv("OMP_NUM_THREADS");
}

TEST_F(Root, AStepsTimeIsInThePlan) {
  Artifact artifact;
  artifact.folder = root;
  EXPECT_EQ(predictedSeconds(artifact), 0);
  artifact.manifest.files.emplace_back().name = "plan.json";
  EXPECT_EQ(predictedSeconds(artifact), 0); // not there
  write("/plan.json", R"({"batch": 4, "slots": {"time": 9},
    "time": [{"name": "a", "seconds": 0.5}, {"name": "b", "seconds": 0.25, "hidden": 3}],
    "candidates": [{"seconds": 70}]})");
  EXPECT_EQ(predictedSeconds(artifact), 0.75);
  write("/plan.json", "{\"time\": [{\"seconds\": 1}");
  EXPECT_EQ(predictedSeconds(artifact), 0);
}

TEST(PaceTest, IsSaidOnceOfStepsInARow) {
  Pace pace;
  auto said = [&](std::initializer_list<double> steps) {
    int times = 0;
    for (double seconds : steps)
      times += pace.isDue(seconds, 0.1);
    return times;
  };
  EXPECT_EQ(said({0.1, 0.39, 5, 5, 0.2, 5, 5, 0.1}), 0); // disturbed, but not three in a row
  EXPECT_EQ(said({5, 5, 5, 5, 5, 5, 5}), 1);
  EXPECT_EQ(said({5, 5, 5}), 0);
  Pace unplanned, brief;
  for (int turn = 0; turn < 5; ++turn) {
    EXPECT_FALSE(unplanned.isDue(5, 0));
    EXPECT_FALSE(brief.isDue(0.09, 0.001)); // too short to be noticed
  }
}

TEST(PaceTest, TheReasonIsWhatTheSystemCounted) {
  StepPace step = {.seconds = 2, .predicted = 0.25, .use = {1.5, 300}, .threads = 2, .processors = 2};
  EXPECT_EQ(describe(step),
            "steps take 2000 ms, planned were 250: other programs use the same processors: its 2 "
            "threads ran 38 % of the time, interrupted 150 times a second");
  step.isThrottled = true;
  step.quota = 0.5;
  EXPECT_THAT(describe(step), HasSubstr("quota of its control group is used up (0.5 processors)"));
  step = {.seconds = 2, .predicted = 0.25, .use = {2, 3}, .threads = 1, .processors = 8};
  EXPECT_THAT(describe(step), HasSubstr("1 of 8 usable processors is used (--threads, OMP_NUM_THREADS)"));
  step.processors = 1;
  EXPECT_THAT(describe(step), HasSubstr("the plan counts on a faster machine; accum-calibrate"));
  step.ranks = 2;
  EXPECT_THAT(describe(step), HasSubstr("another process of the run is slow"));
}

} // namespace
