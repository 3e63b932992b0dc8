// SPDX-License-Identifier: Apache-2.0
// Windows and shares: every sample exactly once, equal K, spare rows that repeat real samples.
#include "runtime/data/Window.h"
#include "runtime/data/Dataset.h"
#include "runtime/data/Philox.h"
#include "runtime/data/Staging.h"
#include "runtime/system/ThreadPool.h"
#include <Random123/philox.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace accum::runtime;

namespace {

/// Counts the real samples of one rank, checking every row on the way.
void countShare(const Share &share, std::vector<int> &seen) {
  for (uint32_t k = 0; k < share.steps; ++k)
    for (int64_t row = 0; row < share.m; ++row) {
      int64_t sample = share.sampleOf(k, row);
      ASSERT_TRUE(sample >= 0 && sample < share.samples);
      if (row >= share.valid(k))
        continue;
      ASSERT_EQ(sample, share.firstRow(k) + row);
      ++seen[sample];
    }
}

void checkCut(int64_t samples, int ranks, int64_t m) {
  std::vector<int> seen(samples);
  for (int rank = 0; rank < ranks; ++rank) {
    Share share(samples, m, ranks, rank);
    ASSERT_EQ(share.steps, Share(samples, m, ranks, 0).steps);
    countShare(share, seen);
  }
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
}

} // namespace

TEST(Window, EverySampleExactlyOnce) {
  for (int64_t samples = 1; samples <= 13; ++samples)
    for (int ranks = 1; ranks <= 5; ++ranks)
      for (int64_t m = 1; m <= 6; ++m)
        checkCut(samples, ranks, m);
}

TEST(Window, BlocksOfFiveOverFour) {
  // ceil(5 / 4) = 2: two, two, one, none.
  const int64_t expected[] = {2, 2, 1, 0};
  for (int rank = 0; rank < 4; ++rank) {
    Share share(5, 3, 4, rank);
    EXPECT_EQ(share.end - share.begin, expected[rank]);
    EXPECT_EQ(share.steps, 1u);
  }
}

/// Each rank's own samples, one behind the other.
TEST(Window, BlocksOfTheRanksOwn) {
  const std::vector<int64_t> counts = {5, 1, 3};
  std::vector<int> seen(9);
  for (size_t rank = 0; rank < counts.size(); ++rank) {
    Share share(counts, rank, 2);
    EXPECT_EQ(share.steps, 3u);
    countShare(share, seen);
    Window window = share.windowOf(counts[rank]);
    EXPECT_EQ(window.samples, 9);
    EXPECT_EQ(window.start + uint64_t(share.firstRow(0)), 0u); // the first in its own data set
  }
  EXPECT_EQ(seen, std::vector<int>(9, 1));
  EXPECT_EQ(Share(9, 2, 3, 1).windowOf(9).start, 0u);
}

TEST(Window, EpochsFollowEachOther) {
  Epochs epochs{10, 4, false}, dropped{10, 4, true};
  EXPECT_EQ(epochs.windows(), 3);
  EXPECT_EQ(epochs.at(2).samples, 2);
  EXPECT_EQ(epochs.at(3).epoch, 1u);
  EXPECT_EQ(epochs.at(4).start, 4u);
  EXPECT_EQ(dropped.windows(), 2);
  EXPECT_EQ(dropped.at(2).epoch, 1u);
  EXPECT_EQ(dropped.at(5).samples, 4);
}

/// One window after the other, by nothing but what was left of the epoch.
static void checkAgainstWalk(int64_t samples, const std::vector<BatchChange> &changes, bool dropLast) {
  Epochs epochs(samples, changes, dropLast);
  std::vector<uint64_t> begins = {0}; // the first step of each epoch
  uint64_t epoch = 0, start = 0;
  for (uint64_t step = 0; step < 60; ++step) {
    int64_t batch = 0;
    for (const BatchChange &change : changes)
      batch = change.step <= step ? change.batch : batch;
    int64_t left = samples - int64_t(start);
    if (left == 0 || (dropLast && left < batch)) {
      start = 0;
      left = samples;
      begins.push_back(step);
      ++epoch;
    }
    Window window = epochs.at(step);
    ASSERT_EQ(epochs.batchAt(step), batch);
    ASSERT_EQ(window.epoch, epoch) << "step " << step;
    ASSERT_EQ(window.start, start) << "step " << step;
    ASSERT_EQ(window.samples, std::min(batch, left)) << "step " << step;
    start += uint64_t(window.samples);
  }
  for (uint64_t number = 0; number < begins.size(); ++number)
    ASSERT_EQ(epochs.stepsOf(number), begins[number]) << "epoch " << number;
}

TEST(Window, BatchesThatChangeGoOnWhereTheOnesBeforeEnded) {
  Draws draws(11, 0);
  for (int trial = 0; trial < 3000; ++trial) {
    int64_t samples = 1 + int64_t(draws.below(23));
    std::vector<BatchChange> changes;
    for (uint64_t step = 0; changes.size() < 1 + draws.below(4); step += 1 + draws.below(9))
      changes.push_back({step, 1 + int64_t(draws.below(uint64_t(samples)))});
    checkAgainstWalk(samples, changes, draws.below(2) == 1);
    ASSERT_FALSE(HasFatalFailure()) << "trial " << trial;
  }
  EXPECT_EQ(Epochs(7, 2, false).stepsOf(UINT64_MAX), UINT64_MAX);
}

TEST(Philox, EqualsRandom123) {
  r123::Philox4x32 reference;
  for (uint32_t i = 0; i < 1000; ++i) {
    std::array<uint32_t, 4> counter = {i, i * 77, ~i, i << 20};
    std::array<uint32_t, 2> key = {i * 3, 0xdeadbeef - i};
    auto expected = reference({{counter[0], counter[1], counter[2], counter[3]}}, {{key[0], key[1]}});
    auto actual = philox(counter, key);
    for (int word = 0; word < 4; ++word)
      ASSERT_EQ(actual[word], expected[word]);
  }
}

TEST(Philox, DrawsAreInRange) {
  Draws draws(1, 2);
  double sum = 0, square = 0;
  for (int i = 0; i < 20000; ++i) {
    EXPECT_LT(draws.below(7), 7u);
    double value = draws.normal();
    sum += value;
    square += value * value;
  }
  EXPECT_NEAR(sum / 20000, 0, 0.03);
  EXPECT_NEAR(square / 20000, 1, 0.04);
}

TEST(Philox, SkippedDrawsAreThoseOfASequence) {
  Draws whole(5, 6), behind(5, 6);
  for (int i = 0; i < 10; ++i)
    whole.normal();
  behind.skip(20);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(behind.normal(), whole.normal());
}

/// Whoever draws which piece of a sample: the values are those of one sequence.
TEST(Dataset, PiecesOfARandomSampleAreOneSequence) {
  Manifest manifest;
  InputSpec spec;
  spec.name = "x";
  spec.shape = {1, 3, 4001};
  spec.batchDim = 0;
  manifest.inputs = {spec};
  spec.dtype = ACCUM_F64;
  manifest.inputs.push_back(spec);
  auto rowOf = [&](int64_t elements, int threads) {
    for (InputSpec &each : manifest.inputs)
      each.shape = {1, elements};
    setThreads(threads);
    Dataset dataset = Dataset::synthetic(manifest, 3, 9);
    std::vector<float> row(elements);
    dataset.copyRow(0, 2, reinterpret_cast<uint8_t *>(row.data()), 0, 1);
    return row;
  };
  int before = threadCount();
  std::vector<float> whole = rowOf(12003, 1), pieces = rowOf(12003, 3), few = rowOf(4097, 2);
  setThreads(before);
  EXPECT_EQ(whole, pieces);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), whole.begin()));
}

/// As many below each of some bounds as the distribution says, of both types, and samples differ.
TEST(Dataset, RandomFloatsAreNormal) {
  Manifest manifest;
  InputSpec spec;
  spec.name = "x";
  spec.shape = {1, 100'000};
  spec.batchDim = 0;
  manifest.inputs = {spec, spec};
  manifest.inputs[1].dtype = ACCUM_F64;
  Dataset dataset = Dataset::synthetic(manifest, 2, 9);
  std::vector<float> first(100'000), second(100'000);
  dataset.copyRow(0, 0, reinterpret_cast<uint8_t *>(first.data()), 0, 1);
  dataset.copyRow(0, 1, reinterpret_cast<uint8_t *>(second.data()), 0, 1);
  std::vector<double> doubles(100'000);
  dataset.copyRow(1, 0, reinterpret_cast<uint8_t *>(doubles.data()), 0, 1);
  for (double bound : {-2.5, -1.0, -0.3, 0.0, 0.5, 1.5, 2.5}) {
    double expected = std::erfc(-bound / std::sqrt(2.0)) / 2;
    auto isBelow = [&](double value) { return value < bound; };
    EXPECT_NEAR(std::ranges::count_if(first, isBelow) / 1e5, expected, 0.006) << bound;
    EXPECT_NEAR(std::ranges::count_if(doubles, isBelow) / 1e5, expected, 0.006) << bound;
  }
  double products = std::inner_product(first.begin(), first.end(), second.begin(), 0.0);
  double neighbours = std::inner_product(first.begin() + 1, first.end(), first.begin(), 0.0);
  EXPECT_NEAR(products / 1e5, 0, 0.012);
  EXPECT_NEAR(neighbours / 1e5, 0, 0.012);
}

/// A table may have more rows than the type of its indices can say: bytes, bools.
TEST(Dataset, RandomIndicesAreThoseOfTheirType) {
  Manifest manifest;
  for (DType dtype : {ACCUM_U8, ACCUM_BOOL}) {
    InputSpec spec;
    spec.name = nameOf(dtype);
    spec.dtype = dtype;
    spec.shape = {1, 500};
    spec.batchDim = 0;
    spec.bound = 50257;
    manifest.inputs.push_back(spec);
  }
  Dataset dataset = Dataset::synthetic(manifest, 1, 9);
  for (uint64_t input : {0, 1}) {
    std::vector<uint8_t> row(500);
    dataset.copyRow(input, 0, row.data(), 0, 1);
    Draws draws(9, (input + 1) << 40);
    for (uint8_t value : row)
      ASSERT_EQ(value, draws.below(input == 0 ? 256 : 2));
  }
}

/// What an earlier phase reads lies first, and what the runtime makes; a picture after that stays as it is.
TEST(Staging, APhaseGetsWhatItReads) {
  Manifest manifest;
  manifest.m = 2;
  InputSpec pixels;
  pixels.name = "pixels";
  pixels.shape = {1, 1000};
  pixels.batchDim = 0;
  InputSpec labels = pixels;
  labels.name = "labels";
  labels.dtype = ACCUM_I64;
  labels.shape = {1};
  labels.bound = 10;
  manifest.inputs = {pixels, labels};
  appendRuntimeInputs(manifest);
  manifest.phases = {
      {.name = "counts", .isLoop = true, .inputs = {"labels"}},
      {.name = "weights"},
      {.name = "micro", .isLoop = true, .addsGradients = true, .inputs = {"pixels", "labels"}}};
  Dataset dataset = Dataset::synthetic(manifest, 4, 1);
  Staging staging;
  std::vector<uint8_t> block(Staging::bytesFor(manifest), 0xee), whole = block;
  staging.place(manifest, /*length=*/0, block.data());
  auto at = [&](size_t input) { return size_t(staging.inputs()[input] - block.data()); };
  Staging::Samples reversed = {[](int64_t place) { return place; },
                               [](int64_t position) { return uint64_t(3 - position); }};
  Share share(4, 2, 1, 0);
  uint64_t end = staging.fill(dataset, share, {0, 1, false, true}, reversed, block.data());
  EXPECT_EQ(end, 3u * 256);
  EXPECT_EQ(at(0), end);
  EXPECT_TRUE(
      std::all_of(block.begin() + int64_t(end), block.end(), [](uint8_t byte) { return byte == 0xee; }));
  EXPECT_EQ(staging.fill(dataset, share, {2, 1, false, true}, reversed, whole.data()), whole.size());
  EXPECT_TRUE(std::equal(block.begin(), block.begin() + int64_t(end), whole.begin()));
  std::vector<float> rows(2000);
  dataset.copyRow(0, 1, reinterpret_cast<uint8_t *>(rows.data()), 0, 2);
  dataset.copyRow(0, 0, reinterpret_cast<uint8_t *>(rows.data()), 1, 2);
  EXPECT_EQ(std::memcmp(rows.data(), whole.data() + at(0), 8000), 0);
}
