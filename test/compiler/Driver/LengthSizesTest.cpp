// SPDX-License-Identifier: Apache-2.0
// The sizes chosen for a histogram of lengths are those of brute force.
#include "compiler/Driver/LengthData.h"
#include <gtest/gtest.h>
#include <random>

using namespace accum::driver;

namespace {

/// Every set of at most `count` sizes, multiples of 8 and the longest.
double leastOfAll(const LengthCounts &counts, int64_t longest, int64_t count, const LengthCost &cost) {
  int64_t inner = (longest - 1) / 8;
  double least = std::numeric_limits<double>::infinity();
  for (uint32_t set = 0; set < (1U << inner); ++set) {
    std::vector<int64_t> sizes;
    for (int64_t at = 0; at < inner; ++at)
      if (set & (1U << at))
        sizes.push_back(8 * (at + 1));
    sizes.push_back(longest);
    if (int64_t(sizes.size()) <= count)
      least = std::min(least, stepSeconds(counts, sizes, cost));
  }
  return least;
}

TEST(LengthSizesTest, equalBruteForce) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    int64_t longest = 9 + int64_t(random() % 72);
    LengthCounts counts(size_t(longest), 0);
    for (int64_t &each : counts)
      each = int64_t(random() % 3) * int64_t(random() % 50);
    counts.back() += 1;
    LengthCost cost{[](int64_t size) { return 1e-3 * double(size) * (1 + 0.002 * double(size)); },
                    1e-3 * double(random() % 40), 1 + int64_t(random() % 200)};
    for (int64_t count : {1, 3, 6}) {
      std::vector<int64_t> sizes = chooseSizes(counts, longest, count, cost);
      ASSERT_LE(int64_t(sizes.size()), count);
      ASSERT_EQ(sizes.back(), longest);
      EXPECT_NEAR(stepSeconds(counts, sizes, cost), leastOfAll(counts, longest, count, cost), 1e-12);
    }
  }
}

TEST(LengthSizesTest, costlyMicroStepsMakeSizesFewer) {
  LengthCounts counts(64, 10);
  auto perSample = [](int64_t size) { return 1e-3 * double(size); };
  EXPECT_EQ(chooseSizes(counts, 64, 6, {perSample, 0, 64}).size(), 6U);
  EXPECT_EQ(chooseSizes(counts, 64, 6, {perSample, 100, 64}).size(), 1U);
}

} // namespace
