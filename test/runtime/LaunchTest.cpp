// SPDX-License-Identifier: Apache-2.0
// Launchers' environments to places.
#include "runtime/ranks/Launch.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>

using namespace accum::runtime;

namespace {

/// Sets variables, and takes them away again.
struct Environment {
  std::map<std::string, std::string> set;
  explicit Environment(std::map<std::string, std::string> values) : set(std::move(values)) {
    for (const auto &[name, value] : set)
      setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const auto &[name, value] : set)
      unsetenv(name.c_str());
  }
};

} // namespace

TEST(Launch, TheFirstHostOfASlurmList) {
  EXPECT_EQ(firstHost("node"), "node");
  EXPECT_EQ(firstHost("a1,a2"), "a1");
  EXPECT_EQ(firstHost("n[07-12,20],m1"), "n07");
  EXPECT_EQ(firstHost("gpu-[3]"), "gpu-3");
  EXPECT_EQ(firstHost("m1,n[07-12]"), "m1");
}

TEST(Launch, EnvIsTakenWhereItIsWhole) {
  EXPECT_FALSE(*placeOf("auto"));
  EXPECT_EQ(placeOf("env").error().message, "--launcher env: the environment has no RANK");
  Environment whole({{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "host"}});
  auto place = *placeOf("auto");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 2);
  EXPECT_EQ(place->ranks, 4);
  EXPECT_EQ(place->address, "host");
  EXPECT_EQ(place->port, 29500);
  EXPECT_FALSE(*placeOf("mpi"));
  Environment mpirun({{"OMPI_COMM_WORLD_SIZE", "4"}});
  EXPECT_FALSE(*placeOf("auto"));
}

TEST(Launch, TorchrunListensAtItsOwnPort) {
  Environment torchrun({{"RANK", "0"},
                        {"WORLD_SIZE", "2"},
                        {"MASTER_ADDR", "host"},
                        {"MASTER_PORT", "45678"},
                        {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  EXPECT_EQ((*placeOf("auto"))->port, 29678);
  EXPECT_EQ(*launchedProcesses("auto"), 2);
}

TEST(Launch, ProcessesAreCountedByAnyLauncher) {
  EXPECT_EQ(*launchedProcesses("auto"), 0);
  EXPECT_EQ(launchedProcesses("env").error().slug, "usage");
  {
    Environment mpirun({{"OMPI_COMM_WORLD_SIZE", "4"}});
    EXPECT_EQ(*launchedProcesses("auto"), 4);
  }
  Environment allocation({{"SLURM_STEP_NUM_TASKS", "3"}});
  EXPECT_EQ(*launchedProcesses("auto"), 0); // a shell in it is none of them
  Environment task({{"SLURM_PROCID", "1"}});
  EXPECT_EQ(*launchedProcesses("auto"), 3);
}

TEST(Launch, ARankOutsideItsWorldIsRefused) {
  Environment wrong({{"RANK", "4"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "host"}});
  EXPECT_EQ(placeOf("env").error().message, "--launcher env: rank 4 of 4 at port 29500 is no place");
}

TEST(Launch, ALocalRankIsNotGuessed) {
  Environment alone({{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  EXPECT_EQ(localRankOf(), 0);
  Environment several({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  EXPECT_EQ(localRankOf(), -1);
}

TEST(Launch, SlurmMeetsAtItsFirstNode) {
  Environment slurm({{"SLURM_PROCID", "5"},
                     {"SLURM_STEP_NUM_TASKS", "8"},
                     {"SLURM_STEP_NODELIST", "n[3-4]"},
                     {"SLURM_LOCALID", "1"},
                     {"SLURM_JOB_ID", "20123"}});
  EXPECT_FALSE(*placeOf("auto")); // its MPI is the rule
  auto place = *placeOf("slurm");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 5);
  EXPECT_EQ(place->address, "n3");
  EXPECT_EQ(place->port, 20123);
  EXPECT_EQ(localRankOf(), 1);
}
