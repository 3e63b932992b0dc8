// SPDX-License-Identifier: Apache-2.0
// Samples of a data file: read one by one, in any order, and never more of the file in memory than that.
#include "runtime/data/Dataset.h"
#include "runtime/files/Array.h"
#include "runtime/files/Convert.h"
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

namespace {

/// Two samples of two i64 numbers as data of an input of another type; the second in the second row, or why
/// not.
Expected<std::vector<int32_t>> secondRow(DType dtype, std::optional<int64_t> bound,
                                         const std::vector<int64_t> &values, std::string *notice = nullptr) {
  std::string path = accum::test::freshFolder("narrow") + "/ids.npy";
  std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }\n";
  std::ofstream file(path, std::ios::binary);
  file << std::string("\x93NUMPY\x01\x00", 8) << char(header.size()) << char(0) << header;
  file.write(reinterpret_cast<const char *>(values.data()), std::streamsize(values.size() * 8));
  file.close();
  InputSpec spec;
  spec.name = "ids";
  spec.dtype = dtype;
  spec.shape = {1, 2};
  spec.batchDim = 0;
  spec.bound = bound;
  Manifest manifest;
  manifest.inputs = {spec};
  manifest.batch = 2;
  std::vector<Array> arrays = {*readNpy(path, "ids")};
  auto data = Dataset::fromArrays(manifest, std::move(arrays));
  if (!data)
    return data.error();
  if (notice)
    *notice = data->notices().front();
  uint8_t rows[2 * 2 * 4] = {};
  data->copyRow(0, 1, rows, 1, 2);
  std::vector<int32_t> got;
  for (size_t i = 2; i < 4; ++i)
    got.push_back(int32_t(asInteger(rows, dtype, int64_t(i))));
  return got;
}

} // namespace

TEST(NarrowedIntegers, AreTakenWhereEachValueFits) {
  std::string notice;
  EXPECT_EQ(*secondRow(ACCUM_I32, 50000, {1, 2, 49999, 0}, &notice), (std::vector<int32_t>{49999, 0}));
  EXPECT_THAT(notice, HasSubstr("array `ids` is i64, narrowed to i32"));
  EXPECT_EQ(*secondRow(ACCUM_I32, {}, {0, 0, INT32_MIN, INT32_MAX}),
            (std::vector<int32_t>{INT32_MIN, INT32_MAX}));
  EXPECT_EQ(*secondRow(ACCUM_I8, {}, {0, 0, -128, 127}), (std::vector<int32_t>{-128, 127}));
  EXPECT_EQ(*secondRow(ACCUM_U8, {}, {0, 0, 255, 1}), (std::vector<int32_t>{255, 1}));
  EXPECT_EQ(*secondRow(ACCUM_BOOL, {}, {0, 0, 1, 0}), (std::vector<int32_t>{1, 0}));
}

TEST(NarrowedIntegers, AreRefusedByTheFirstThatDoesNot) {
  auto refusal = [](DType dtype, std::optional<int64_t> bound, const std::vector<int64_t> &values) {
    auto rows = secondRow(dtype, bound, values);
    return rows ? "taken" : format(rows.error());
  };
  EXPECT_THAT(
      refusal(ACCUM_I32, {}, {1, 2, 3, int64_t(1) << 31}),
      HasSubstr("array `ids` holds 2147483648 at [1, 1], expected -2147483648 <= value <= 2147483647, "
                "since the model's input is i32 [bad-data]\nnote: export the model with an input of i64"));
  EXPECT_THAT(refusal(ACCUM_I32, 10, {1, 2, (int64_t(1) << 32) + 3, 0}),
              HasSubstr("holds 4294967299 at [1, 0]"));
  EXPECT_THAT(refusal(ACCUM_BOOL, {}, {0, 0, 2, 0}),
              HasSubstr("holds 2 at [1, 0], expected 0 <= value <= 1"));
}
