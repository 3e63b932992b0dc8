// SPDX-License-Identifier: Apache-2.0
// Reading weights and data does not stay in the resident set: the predicted peak counts the arena, not the
// files.
#include "runtime/Memory.h"
#include "runtime/Dataset.h"
#include "runtime/HostDevice.h"
#include "runtime/Parameters.h"
#include "runtime/SafetensorsWriter.h"
#include "test/runtime/ToyArtifact.h"
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
      path, {{"w", reinterpret_cast<uint8_t *>(ones.data()), ACCUM_F32, ACCUM_F32, {kRows, kColumns}}},
      false));
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

TEST(Memory, SizesAreReadable) {
  EXPECT_EQ(formatBytes(900), "900 B");
  EXPECT_EQ(formatBytes(13 << 20), "13.0 MiB");
  EXPECT_EQ(formatBytes(uint64_t(5) << 29), "2.50 GiB");
  EXPECT_GT(availableMemory(), 0u);
}

TEST(Memory, LoadingParametersKeepsNoCopyOfTheFile) {
  std::string path = writeLarge();
  Manifest manifest;
  ParameterSpec param;
  param.onnxName = "w";
  param.shape = {kRows, kColumns};
  manifest.params = {param};
  std::vector<uint8_t> state(param.bytes(), 1);
  std::vector<DType> types;
  HostDevice device;
  uint64_t before = peakResident();
  ASSERT_TRUE(loadParameters(manifest, path, device, state.data(), types));
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
