// SPDX-License-Identifier: Apache-2.0
// Reading weights and data does not stay in the resident set: the predicted peak counts the arena, not the
// files.
#include "runtime/system/Memory.h"
#include "runtime/data/Dataset.h"
#include "runtime/files/SafetensorsWriter.h"
#include "runtime/host/HostDevice.h"
#include "runtime/weights/Parameters.h"
#include "test/runtime/ToyArtifact.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace accum::runtime;
using namespace accum::test;

namespace {

constexpr int64_t kRows = 1024, kColumns = 24 << 10; // 96 MiB of f32
constexpr uint64_t kSlack = 24 << 20;

/// A file with one matrix w of ones.
std::string writeLarge() {
  std::string path = freshFolder("memory") + "/large.safetensors";
  std::vector<float> ones(kRows * kColumns, 1.0f);
  EXPECT_TRUE(writeSafetensors(
      path, {{"w", reinterpret_cast<uint8_t *>(ones.data()), ACCUM_F32, {kRows, kColumns}}}, false));
  return path;
}

/// What the process has resident now; unlike the peak it falls when the test's own arrays go.
uint64_t resident() {
  unsigned long pages = 0;
  if (std::FILE *file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*u %lu", &pages) != 1)
      pages = 0;
    std::fclose(file);
  }
  return uint64_t(pages) * 4096;
}

} // namespace

TEST(Memory, SomeIsAvailable) { EXPECT_GT(availableMemory(), 0u); }

/// Files below a folder that stand for the system's.
void writeFiles(const std::string &root, const std::vector<std::pair<std::string, std::string>> &files) {
  for (const auto &[path, text] : files) {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
}

TEST(Memory, GroupsOfVersionTwoLimitWhatIsBelowThem) {
  std::string root = freshFolder("groups"), sys = "/sys/fs/cgroup";
  EXPECT_EQ(leftInControlGroups(root), UINT64_MAX);
  writeFiles(root, {{"/proc/self/cgroup", "0::/user/shell\n"},
                    {sys + "/user/shell/memory.max", "max\n"},
                    {sys + "/user/shell/memory.current", "100\n"}});
  EXPECT_EQ(leftInControlGroups(root), UINT64_MAX);
  writeFiles(root, {{sys + "/user/memory.max", "1000\n"}, {sys + "/user/memory.current", "700\n"}});
  EXPECT_EQ(leftInControlGroups(root), 300u);
  // Pages of files that nobody reads are given up.
  writeFiles(root, {{sys + "/user/memory.stat", "anon 500\ninactive_file 150\n"}});
  EXPECT_EQ(leftInControlGroups(root), 450u);
  writeFiles(root, {{sys + "/user/shell/memory.high", "250\n"}});
  EXPECT_EQ(leftInControlGroups(root), 150u);
  writeFiles(root, {{sys + "/user/memory.current", "9000\n"}});
  EXPECT_EQ(leftInControlGroups(root), 0u);
}

TEST(Memory, GroupsOfVersionOneToo) {
  std::string root = freshFolder("groups-1"), folder = "/sys/fs/cgroup/memory";
  // The memory controller stands with another, in a container whose own folder is the root.
  writeFiles(root, {{"/proc/self/cgroup", "5:cpu:/box/7\n4:hugetlb,memory:/box/7\nbroken\n0::/\n"},
                    {"/sys/fs/cgroup/cpu/memory.limit_in_bytes", "1"},
                    {folder + "/memory.limit_in_bytes", "5000"},
                    {folder + "/memory.usage_in_bytes", "2000"},
                    {folder + "/memory.stat", "inactive_file 1\ntotal_inactive_file 600\n"}});
  EXPECT_EQ(leftInControlGroups(root), 3600u);
  writeFiles(root, {{folder + "/box/7/memory.limit_in_bytes", "9223372036854771712"},
                    {folder + "/box/7/memory.usage_in_bytes", "10"}});
  EXPECT_EQ(leftInControlGroups(root), 3600u);
  writeFiles(root, {{folder + "/box/7/memory.limit_in_bytes", "30"}});
  EXPECT_EQ(leftInControlGroups(root), 20u);
}

TEST(Memory, LoadingParametersKeepsNoCopyOfTheFile) {
  std::string path = writeLarge();
  Manifest manifest;
  ParameterSpec param;
  param.onnxName = "w";
  param.shape = {kRows, kColumns};
  manifest.params = {param};
  std::vector<uint8_t> state(param.bytes(), 1);
  HostDevice device;
  Collectives alone;
  StateMemory memory(manifest, device, alone, state.data());
  uint64_t before = peakResident();
  ASSERT_TRUE(loadParameters(manifest, path, memory));
  EXPECT_EQ(reinterpret_cast<float *>(state.data())[kRows * kColumns - 1], 1.0f);
  EXPECT_LT(peakResident(), before + kSlack);
}

TEST(Memory, CheckingDataKeepsNoCopyOfTheFile) {
  std::string path = writeLarge();
  auto arrays = readSafetensors(path);
  ASSERT_TRUE(arrays);
  InputSpec spec;
  spec.name = "w";
  uint64_t before = resident();
  ASSERT_TRUE(checkValues(spec, arrays->front()));
  EXPECT_LT(resident(), before + kSlack);
}
