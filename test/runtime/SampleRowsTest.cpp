// SPDX-License-Identifier: Apache-2.0
// Samples of a data file: read one by one, in any order, and never more of the file in memory than that.
#include "runtime/Array.h"
#include "runtime/Dataset.h"
#include "test/runtime/ToyArtifact.h"
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace accum::runtime;
using testing::HasSubstr;

namespace {

constexpr int64_t kSamples = 4096, kElements = 4096;

/// 64 MiB: value e of sample s is s + e / 4096.
class LargeFile : public testing::Test {
protected:
  void SetUp() override {
    path = accum::test::freshFolder("large") + "/x.npy";
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4096, 4096), }\n";
    std::ofstream file(path, std::ios::binary);
    file << std::string("\x93NUMPY\x01\x00", 8) << char(header.size()) << char(0) << header;
    std::vector<float> row(kElements);
    for (int64_t sample = 0; sample < kSamples; ++sample) {
      for (int64_t e = 0; e < kElements; ++e)
        row[size_t(e)] = float(sample) + float(e) / 4096;
      file.write(reinterpret_cast<const char *>(row.data()), kElements * 4);
    }
    file.close();
    InputSpec spec;
    spec.name = "x";
    spec.shape = {1, kElements};
    spec.batchDim = 0;
    manifest.inputs = {spec};
    manifest.batch = 16;
    std::vector<Array> arrays = {*readNpy(path, "x")};
    data = *Dataset::fromArrays(manifest, std::move(arrays));
  }
  void TearDown() override { std::filesystem::remove(path); }

  /// Bytes of files in the process's resident set.
  static int64_t residentOfFiles() {
    std::ifstream file("/proc/self/statm");
    int64_t all = 0, resident = 0, shared = 0;
    file >> all >> resident >> shared;
    return shared * sysconf(_SC_PAGESIZE);
  }

  std::string path;
  Manifest manifest;
  std::optional<Dataset> data;
};

} // namespace

TEST_F(LargeFile, SamplesInAnyOrderLeaveNothingOfTheFileInMemory) {
  std::vector<float> rows(2 * kElements);
  int64_t before = residentOfFiles();
  for (uint64_t i = 0; i < 500; ++i) {
    uint64_t sample = i * 1237 % kSamples;
    data->copyRow(0, sample, reinterpret_cast<uint8_t *>(rows.data()), 1, 2);
    ASSERT_EQ(rows[kElements], float(sample));
    ASSERT_EQ(rows[2 * kElements - 1], float(sample) + 4095.0F / 4096);
  }
  EXPECT_TRUE(data->health());
  EXPECT_LT(residentOfFiles() - before, 256 << 10);
}

/// What was mapped is gone: an error, where touching it would be the end of the process.
TEST_F(LargeFile, AFileThatBecomesShorterIsSaid) {
  std::vector<float> row(kElements, -1);
  auto *bytes = reinterpret_cast<uint8_t *>(row.data());
  std::filesystem::resize_file(path, 8 << 20);
  data->copyRow(0, 3, bytes, 0, 1);
  EXPECT_EQ(row[0], 3);
  EXPECT_TRUE(data->health());
  data->copyRow(0, 4000, bytes, 0, 1);
  EXPECT_EQ(row[0], 3);
  ASSERT_FALSE(data->health());
  EXPECT_THAT(data->health().error().message, HasSubstr("x.npy: cannot be read: it has become shorter"));
  data->copyRow(0, 5, bytes, 0, 1);
  EXPECT_FALSE(data->health()) << "the first failure stays";
}
