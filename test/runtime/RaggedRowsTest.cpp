// SPDX-License-Identifier: Apache-2.0
// Samples of their own lengths: which size holds each, what stands in a row, and what is refused.
#include "runtime/data/Dataset.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace accum::runtime;

namespace {

/// Ids and a mask of up to 8 places, labels of one number a sample; sizes 4 and 8.
Manifest manifestOfTwo(bool isOnes = false) {
  Manifest manifest;
  manifest.m = 1;
  manifest.lengthDims = {"sequence"};
  manifest.lengths = {{{4}, 2, 1}, {{8}, 1, 2}};
  InputSpec ids;
  ids.name = "ids";
  ids.dtype = ACCUM_I64;
  ids.shape = {1, 8};
  ids.batchDim = 0;
  ids.padded = PaddedAxis{1, 0, 0, false};
  InputSpec mask = ids;
  mask.name = "mask";
  mask.synthesize = Synthesize::Ones;
  mask.padded = PaddedAxis{1, 0, 0, true, isOnes};
  manifest.inputs = {ids, mask};
  appendRuntimeInputs(manifest);
  return manifest;
}

Array arrayOf(std::string name, std::vector<int64_t> shape, const std::vector<int64_t> &values) {
  Array array;
  array.name = std::move(name);
  array.path = "memory";
  array.dtype = ACCUM_I64;
  array.shape = std::move(shape);
  array.data = reinterpret_cast<const uint8_t *>(values.data());
  return array;
}

std::vector<int64_t> rowAt(Dataset &dataset, size_t input, uint64_t sample, const LengthSpec &length) {
  std::vector<int64_t> row(size_t(length.sizes[0]), -1);
  dataset.copyPadded(input, sample, reinterpret_cast<uint8_t *>(row.data()), 0, length);
  return row;
}

std::string refusal(const Manifest &manifest, std::vector<Array> arrays) {
  auto dataset = Dataset::fromArrays(manifest, std::move(arrays));
  return dataset ? "" : dataset.error().message;
}

} // namespace

TEST(RaggedRows, AMaskSaysWhereASampleEnds) {
  Manifest manifest = manifestOfTwo();
  std::vector<int64_t> ids = {1, 2, 3, 9, 9, 9, 4, 5, 6, 7, 8, 9},
                       mask = {1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0};
  auto dataset = Dataset::fromArrays(manifest, {arrayOf("ids", {2, 6}, ids), arrayOf("mask", {2, 6}, mask)});
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ(dataset->needOf(0), 0);
  EXPECT_EQ(dataset->needOf(1), 1);
  EXPECT_EQ(rowAt(*dataset, 0, 0, manifest.lengths[0]), (std::vector<int64_t>{1, 2, 3, 9}));
  EXPECT_EQ(rowAt(*dataset, 1, 0, manifest.lengths[0]), (std::vector<int64_t>{1, 1, 1, 0}));
  EXPECT_EQ(rowAt(*dataset, 0, 1, manifest.lengths[1]), (std::vector<int64_t>{4, 5, 6, 7, 8, 9, 0, 0}));
}

TEST(RaggedRows, WhatIsLongerThanTheLargestSizeIsCutWhereThatIsAsked) {
  Manifest manifest = manifestOfTwo();
  std::vector<int64_t> ids = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, offsets = {0, 2, 12};
  auto arrays = [&] { return std::vector{arrayOf("ids", {12}, ids), arrayOf("ids.offsets", {3}, offsets)}; };
  EXPECT_NE(refusal(manifest, arrays()), "");
  auto dataset = Dataset::fromArrays(manifest, arrays(), /*truncates=*/true);
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ(dataset->needOf(0), 0);
  EXPECT_EQ(dataset->needOf(1), 1);
  EXPECT_EQ(rowAt(*dataset, 0, 1, manifest.lengths[1]), (std::vector<int64_t>{3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(rowAt(*dataset, 1, 1, manifest.lengths[1]), (std::vector<int64_t>{1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(dataset->notices().back(),
            "1 of 2 samples are longer than the largest size of `sequence`, and end after 8 places");
  manifest.lengths.clear();
  EXPECT_FALSE(Dataset::fromArrays(manifest, arrays(), /*truncates=*/true));
}

TEST(RaggedRows, OffsetsSayWhereSamplesBegin) {
  Manifest manifest = manifestOfTwo();
  std::vector<int64_t> ids = {1, 2, 3, 4, 5, 6, 7}, offsets = {0, 2, 2, 7};
  auto dataset =
      Dataset::fromArrays(manifest, {arrayOf("ids", {7}, ids), arrayOf("ids.offsets", {4}, offsets)});
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ(dataset->samples(), 3);
  EXPECT_EQ(dataset->needOf(1), 0); // an empty one
  EXPECT_EQ(dataset->needOf(2), 1);
  EXPECT_EQ(rowAt(*dataset, 0, 0, manifest.lengths[0]), (std::vector<int64_t>{1, 2, 0, 0}));
  // A mask that the data lacks ends where the sample ends.
  EXPECT_EQ(rowAt(*dataset, 1, 0, manifest.lengths[0]), (std::vector<int64_t>{1, 1, 0, 0}));
  EXPECT_EQ(rowAt(*dataset, 1, 2, manifest.lengths[1]), (std::vector<int64_t>{1, 1, 1, 1, 1, 0, 0, 0}));
}

/// Tokens after the last label are attended to: the mask that is made says so.
TEST(RaggedRows, AMaskThatIsMadeEndsWithTheArrays) {
  Manifest manifest = manifestOfTwo();
  InputSpec labels = manifest.inputs[0];
  labels.name = "labels";
  labels.padded = PaddedAxis{1, 0, -100, true};
  manifest.inputs.insert(manifest.inputs.begin(), labels);
  std::vector<int64_t> ids(6, 1), targets = {5, -100, -100, -100, -100, -100};
  auto dataset =
      Dataset::fromArrays(manifest, {arrayOf("ids", {1, 6}, ids), arrayOf("labels", {1, 6}, targets)});
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ(dataset->needOf(0), 1);
}

TEST(RaggedRows, ARowThatSeesNothingHasTheLargestSize) {
  Manifest manifest = manifestOfTwo(/*isOnes=*/true);
  std::vector<int64_t> ids(4, 1), none(4, 0), offsets = {0, 0, 4};
  auto given = Dataset::fromArrays(manifest, {arrayOf("ids", {1, 4}, ids), arrayOf("mask", {1, 4}, none)});
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_EQ(given->needOf(0), 1);
  auto made = Dataset::fromArrays(manifest, {arrayOf("ids", {4}, ids), arrayOf("ids.offsets", {3}, offsets)});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->needOf(0), 1);
  EXPECT_EQ(made->needOf(1), 0);
}

TEST(RaggedRows, WhatIsRefused) {
  Manifest manifest = manifestOfTwo();
  std::vector<int64_t> ids(12, 1), mask(12, 1), wide(18, 1);
  EXPECT_NE(refusal(manifest, {arrayOf("ids", {2, 9}, wide)})
                .find("is 9 long, the largest size of `sequence` is 8"),
            std::string::npos);
  EXPECT_NE(refusal(manifest, {arrayOf("ids", {2, 6}, ids), arrayOf("mask", {2, 5}, mask)})
                .find("places in sample 0"),
            std::string::npos);
  for (auto [offsets, what] :
       {std::pair<std::vector<int64_t>, const char *>{{0, 3, 2, 12}, "falls from 3 to 2"},
        {{0, 3, 13}, "ends at 13"},
        {{1, 3, 12}, "begins at 1"}})
    EXPECT_NE(refusal(manifest,
                      {arrayOf("ids", {12}, ids), arrayOf("ids.offsets", {int64_t(offsets.size())}, offsets)})
                  .find(what),
              std::string::npos);
}

TEST(RaggedRows, HolesAreRefusedWhereTheLossNeedsOnes) {
  std::vector<int64_t> ids = {1, 2, 3, 4}, left = {0, 1, 1, 0};
  auto arrays = [&] {
    return std::vector<Array>{arrayOf("ids", {1, 4}, ids), arrayOf("mask", {1, 4}, left)};
  };
  EXPECT_EQ(refusal(manifestOfTwo(), arrays()), "");
  EXPECT_NE(refusal(manifestOfTwo(/*isOnes=*/true), arrays()).find("is padded before its last place"),
            std::string::npos);
}

/// Two rows of a mask a sample, as the choices of a question are: each ends where it ends, and has one place.
TEST(RaggedRows, EachOfSeveralRowsHasItsOwnEnd) {
  Manifest manifest = manifestOfTwo(/*isOnes=*/true);
  InputSpec &choices = manifest.inputs[1];
  choices.shape = {1, 2, 8};
  choices.padded->axis = 2;
  std::vector<int64_t> ids(12, 1);
  auto needOf = [&](const std::vector<int64_t> &mask) {
    auto dataset =
        Dataset::fromArrays(manifest, {arrayOf("ids", {2, 6}, ids), arrayOf("mask", {2, 2, 6}, mask)});
    return dataset ? std::vector<int>{dataset->needOf(0), dataset->needOf(1)} : std::vector<int>{};
  };
  EXPECT_EQ(needOf({1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0}),
            (std::vector{0, 1}));
  // One that sees nothing has the largest size; a hole is none of the program's data.
  EXPECT_EQ(needOf({1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0}),
            (std::vector{1, 0}));
  EXPECT_EQ(needOf({1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0}),
            std::vector<int>{});
}
