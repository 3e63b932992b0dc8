// SPDX-License-Identifier: Apache-2.0
// Arrays in several files: one behind the other in the order of their names, each like the first.
#include "runtime/data/Dataset.h"
#include "runtime/files/SafetensorsWriter.h"
#include "test/runtime/ToyArtifact.h"
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace accum::runtime;
using testing::HasSubstr;

namespace {

class Shards : public testing::Test {
protected:
  Shards() {
    for (const char *name : {"x", "y"}) {
      InputSpec spec;
      spec.name = name;
      spec.shape = {1, 2};
      spec.batchDim = 0;
      manifest.inputs.push_back(spec);
    }
  }

  /// A file with x of `samples` samples that count on from `first`, and y of their negatives.
  void write(const std::string &name, int64_t first, int64_t samples, int64_t ofY, const char *other = "y",
             int64_t width = 2) const {
    std::vector<float> x, y;
    for (int64_t i = 0; i < samples * width; ++i)
      x.push_back(float(first * width + i));
    for (int64_t i = 0; i < ofY * 2; ++i)
      y.push_back(-float(first * 2 + i));
    auto bytes = [](const std::vector<float> &values) {
      return reinterpret_cast<const uint8_t *>(values.data());
    };
    std::vector<TensorToWrite> tensors = {{"x", bytes(x), ACCUM_F32, {samples, width}},
                                          {other, bytes(y), ACCUM_F32, {ofY, 2}}};
    ASSERT_TRUE(writeSafetensors(folder + "/" + name, tensors, false));
  }

  Expected<Dataset> open() const {
    auto files = readData({folder}, "");
    return files ? Dataset::fromFiles(manifest, std::move(*files), {}) : files.error();
  }

  std::string refusal() const {
    auto data = open();
    return data ? "" : std::to_string(data.error().exitCode) + " " + format(data.error());
  }

  std::string folder = accum::test::freshFolder("shards");
  Manifest manifest;
};

} // namespace

TEST_F(Shards, FollowEachOther) {
  write("c.safetensors", 5, 4, 4);
  write("a.safetensors", 0, 2, 2);
  write("b.safetensors", 2, 3, 3);
  auto data = open();
  ASSERT_TRUE(data) << format(data.error());
  ASSERT_EQ(data->samples(), 9);
  for (uint64_t sample : {8, 0, 1, 2, 3, 4, 5, 6, 7})
    for (size_t input : {0, 1}) {
      float row[2] = {};
      data->copyRow(input, sample, reinterpret_cast<uint8_t *>(row), 0, 1);
      float sign = input == 0 ? 1 : -1;
      EXPECT_EQ(row[0], sign * float(2 * sample));
      EXPECT_EQ(row[1], sign * float(2 * sample + 1));
    }
}

TEST_F(Shards, EachIsLikeTheFirst) {
  write("a.safetensors", 0, 2, 2);
  write("b.safetensors", 2, 2, 2, "z");
  EXPECT_THAT(refusal(), HasSubstr("3 error: " + folder + "/b.safetensors: has no array `y`, which " +
                                   folder + "/a.safetensors has [bad-data]"));
  write("b.safetensors", 2, 2, 2, "y", 3);
  EXPECT_THAT(refusal(), HasSubstr("b.safetensors: array `x` has shape [2, 3], expected [samples, 2]"));
  write("b.safetensors", 2, 0, 0);
  EXPECT_THAT(refusal(), HasSubstr("b.safetensors: array `x` holds no sample"));
}

/// As many samples altogether, but not beside each other.
TEST_F(Shards, ArraysOfOneFileGoTogether) {
  write("a.safetensors", 0, 2, 3);
  write("b.safetensors", 2, 3, 2);
  EXPECT_THAT(refusal(), HasSubstr("a.safetensors: array `y` holds 3 samples, expected 2 as in `x`"));
}
