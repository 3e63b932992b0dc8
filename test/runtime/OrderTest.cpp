// SPDX-License-Identifier: Apache-2.0
// The shuffle: every sample once, every position as likely, pairs as likely, epochs that have nothing to do
// with each other, and the same numbers for ever.
#include "runtime/data/Order.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <vector>

using namespace accum::runtime;

namespace {

std::vector<uint64_t> orderOf(int64_t samples, uint64_t seed, uint64_t epoch) {
  Order order(samples, true, seed);
  std::vector<uint64_t> all;
  for (int64_t position = 0; position < samples; ++position)
    all.push_back(order.at(epoch, uint64_t(position)));
  return all;
}

bool isPermutation(std::vector<uint64_t> order) {
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != i)
      return false;
  return true;
}

/// Standard deviations of a chi-square statistic above its mean, by Wilson and Hilferty's cube root.
double excess(const std::vector<int64_t> &counts, double expected) {
  double statistic = 0, freedom = double(counts.size()) - 1;
  for (int64_t count : counts)
    statistic += (double(count) - expected) * (double(count) - expected) / expected;
  double spread = 2 / (9 * freedom);
  return (std::cbrt(statistic / freedom) - (1 - spread)) / std::sqrt(spread);
}

} // namespace

TEST(Order, EverySampleExactlyOnce) {
  for (int64_t samples = 1; samples <= 700; ++samples)
    for (uint64_t epoch : {0, 1})
      ASSERT_TRUE(isPermutation(orderOf(samples, 3, epoch))) << samples;
  for (int64_t samples : {65535, 65536, 65537, 1'000'003})
    ASSERT_TRUE(isPermutation(orderOf(samples, uint64_t(samples), 7))) << samples;
}

TEST(Order, DependsOnSeedAndEpoch) {
  EXPECT_EQ(orderOf(100, 3, 0), orderOf(100, 3, 0));
  EXPECT_NE(orderOf(100, 3, 0), orderOf(100, 3, 1));
  EXPECT_NE(orderOf(100, 3, 0), orderOf(100, 4, 0));
  EXPECT_NE(orderOf(100, 3, 0), orderOf(100, 3 + (uint64_t(1) << 32), 0));
  EXPECT_NE(orderOf(100, 3, 0), orderOf(100, 3, uint64_t(1) << 32));
  Order plain(5, false, 3);
  for (uint64_t position = 0; position < 5; ++position)
    EXPECT_EQ(plain.at(9, position), position);
}

/// Which sample stands where, over seeds: each with the same chance.
TEST(Order, PositionsAreUniform) {
  constexpr int64_t kSeeds = 20'000;
  for (int64_t samples : {2, 3, 4, 5, 6, 7, 9, 12, 13, 16, 17, 25, 31}) {
    std::vector<int64_t> counts(size_t(samples * samples));
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      std::vector<uint64_t> order = orderOf(samples, seed, 0);
      for (int64_t position = 0; position < samples; ++position)
        ++counts[size_t(position * samples) + order[size_t(position)]];
    }
    EXPECT_LT(excess(counts, double(kSeeds) / double(samples)), 4) << samples;
  }
}

/// Whole orders of few samples.
TEST(Order, OrdersAreUniform) {
  constexpr int64_t kSeeds = 60'000;
  int64_t factorial = 1;
  for (int64_t samples : {2, 3, 4, 5, 6, 7}) {
    factorial *= samples;
    std::map<std::vector<uint64_t>, int64_t> seen;
    for (uint64_t seed = 0; seed < kSeeds; ++seed)
      ++seen[orderOf(samples, seed, 5)];
    std::vector<int64_t> counts;
    for (const auto &[order, count] : seen)
      counts.push_back(count);
    counts.resize(size_t(factorial)); // orders that never came
    EXPECT_LT(excess(counts, double(kSeeds) / double(factorial)), 4) << samples;
  }
}

/// What follows a sample, and where it stands an epoch later.
TEST(Order, NeighboursAndEpochsAreUncorrelated) {
  constexpr int64_t kSamples = 13, kSeeds = 20'000;
  std::vector<int64_t> neighbours(kSamples * kSamples), later(kSamples * kSamples);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::vector<uint64_t> order = orderOf(kSamples, seed, 1), next = orderOf(kSamples, seed, 2);
    ++neighbours[order[4] * kSamples + order[5]];
    ++later[order[4] * kSamples + next[4]];
  }
  std::vector<int64_t> apart;
  for (size_t pair = 0; pair < neighbours.size(); ++pair)
    if (pair / kSamples != pair % kSamples)
      apart.push_back(neighbours[pair]);
  EXPECT_LT(excess(apart, double(kSeeds) / double(apart.size())), 4);
  EXPECT_LT(excess(later, double(kSeeds) / double(later.size())), 4);
}

/// Of many samples: no trace of the file's order, and none of the epoch before.
TEST(Order, ManySamplesAreUncorrelated) {
  constexpr int64_t kSamples = 200'000;
  std::vector<uint64_t> first = orderOf(kSamples, 1, 0), second = orderOf(kSamples, 1, 1);
  auto correlation = [&](auto &&a, auto &&b) {
    double mean = double(kSamples - 1) / 2, sum = 0;
    for (int64_t i = 0; i + 1 < kSamples; ++i)
      sum += (double(a(i)) - mean) * (double(b(i)) - mean);
    return sum / (double(kSamples) * double(kSamples) * double(kSamples) / 12);
  };
  auto place = [](int64_t i) { return i; };
  auto one = [&](int64_t i) { return first[size_t(i)]; };
  auto behind = [&](int64_t i) { return first[size_t(i) + 1]; };
  auto other = [&](int64_t i) { return second[size_t(i)]; };
  double bound = 4 / std::sqrt(double(kSamples));
  EXPECT_LT(std::abs(correlation(place, one)), bound);
  EXPECT_LT(std::abs(correlation(one, behind)), bound);
  EXPECT_LT(std::abs(correlation(one, other)), bound);
}

/// A run that is resumed by a later version goes on in the same order.
TEST(Order, StaysWhatItIs) {
  EXPECT_EQ(orderOf(10, 0, 0), (std::vector<uint64_t>{3, 2, 8, 1, 0, 7, 4, 9, 6, 5}));
  Order large(int64_t(1) << 50, true, 42);
  EXPECT_EQ(large.at(3, 123'456'789), 518893988440468U);
}
