// SPDX-License-Identifier: Apache-2.0
// Samples by length: each is computed once, at a size that holds it, in the least predicted time. Oracle: all
// choices, one by one.
#include "runtime/data/Division.h"
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace accum::runtime;

namespace {

std::vector<LengthSpec> drawLengths(std::mt19937 &draw) {
  std::vector<LengthSpec> lengths;
  double seconds = 0;
  for (int i = 0, n = 1 + int(draw() % 4); i < n; ++i) {
    seconds += 1 + double(draw() % 9);
    lengths.push_back({{int64_t(8) << i}, int64_t(1 + draw() % 5), seconds});
  }
  return lengths;
}

double secondsOf(const std::vector<int64_t> &counts, const std::vector<int64_t> &capacity,
                 const std::vector<LengthSpec> &lengths) {
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i)
    sum += double((counts[i] + capacity[i] - 1) / capacity[i]) * lengths[i].seconds;
  return sum;
}

/// Any number of samples of each length may move up.
double leastOfAll(std::vector<int64_t> counts, size_t length, const std::vector<int64_t> &capacity,
                  const std::vector<LengthSpec> &lengths) {
  if (length + 1 == counts.size())
    return secondsOf(counts, capacity, lengths);
  double least = leastOfAll(counts, length + 1, capacity, lengths);
  while (counts[length] > 0) {
    --counts[length];
    ++counts[length + 1];
    least = std::min(least, leastOfAll(counts, length + 1, capacity, lengths));
  }
  return least;
}

TEST(Division, MovesUpWhereThatIsFastest) {
  std::mt19937 draw(1);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<LengthSpec> lengths = drawLengths(draw);
    std::vector<int64_t> counts, capacity;
    for (const LengthSpec &length : lengths) {
      counts.push_back(int64_t(draw() % 7));
      capacity.push_back(length.m);
    }
    std::vector<int64_t> moved = moveUp(counts, capacity, lengths);
    EXPECT_EQ(std::accumulate(moved.begin(), moved.end(), int64_t(0)),
              std::accumulate(counts.begin(), counts.end(), int64_t(0)));
    EXPECT_DOUBLE_EQ(secondsOf(moved, capacity, lengths), leastOfAll(counts, 0, capacity, lengths));
  }
}

TEST(Division, EachSampleOnceAtASizeThatHoldsIt) {
  std::mt19937 draw(2);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<LengthSpec> lengths = drawLengths(draw);
    std::vector<uint8_t> needs(1 + draw() % 40);
    for (uint8_t &need : needs)
      need = uint8_t(draw() % lengths.size());
    int ranks = 1 + int(draw() % 3), firsts = 0;
    std::vector<int> seen(needs.size());
    std::vector<uint32_t> microSteps;
    for (int rank = 0; rank < ranks; ++rank) {
      Division division(needs, lengths, ranks, rank);
      ASSERT_EQ(division.shares.size(), lengths.size());
      if (rank > 0) {
        EXPECT_EQ(division.microSteps, microSteps); // collectives meet
      }
      microSteps = division.microSteps;
      for (size_t length = 0; length < lengths.size(); ++length) {
        const Share &share = division.shares[length];
        EXPECT_EQ(share.m, lengths[length].m);
        for (uint32_t k = 0; k < share.steps; ++k) {
          firsts += share.firstRow(k) == 0;
          for (int64_t row = 0; row < share.m; ++row) {
            int64_t position = division.positionOf(share.sampleOf(k, row)); // of spare rows, too
            ASSERT_LT(size_t(position), needs.size());
            if (row >= share.valid(k))
              continue;
            ++seen[size_t(position)];
            EXPECT_LE(needs[size_t(position)], length);
          }
        }
      }
    }
    EXPECT_EQ(seen, std::vector<int>(needs.size(), 1));
    EXPECT_EQ(firsts, 1); // what the whole batch shares is counted in one micro-step
  }
}

TEST(Division, OneLengthIsTheShareItself) {
  Share share(11, 3, 2, 1);
  Division division(share);
  EXPECT_EQ(division.steps, share.steps);
  EXPECT_EQ(division.samples, 11);
  EXPECT_EQ(division.positionOf(7), 7);
}

/// Each rank has samples of its own, and sees those alone.
TEST(Division, RanksWithSamplesOfTheirOwnHaveAsManyMicroSteps) {
  std::mt19937 draw(3);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<LengthSpec> lengths = drawLengths(draw);
    std::vector<std::vector<uint8_t>> needs(1 + draw() % 3);
    std::vector<int64_t> most(lengths.size(), 0), held;
    for (std::vector<uint8_t> &own : needs) {
      for (size_t i = 0, n = 1 + draw() % 12; i < n; ++i)
        own.push_back(uint8_t(draw() % lengths.size()));
      held.push_back(int64_t(own.size()));
      std::vector<int64_t> counts = Division::countsOf(own, lengths.size());
      for (size_t length = 0; length < lengths.size(); ++length)
        most[length] = std::max(most[length], counts[length]);
    }
    std::optional<std::vector<uint32_t>> steps;
    for (size_t rank = 0; rank < needs.size(); ++rank) {
      Share own(held, rank, lengths.back().m);
      Division division(needs[rank], most, lengths, own);
      EXPECT_EQ(steps.value_or(division.microSteps), division.microSteps);
      steps = division.microSteps;
      std::vector<int> seen(needs[rank].size(), 0);
      for (size_t length = 0; length < lengths.size(); ++length) {
        const Share &share = division.shares[length];
        for (uint32_t k = 0; k < share.steps; ++k)
          for (int64_t row = 0; row < lengths[length].m; ++row) {
            int64_t position = division.positionOf(share.sampleOf(k, row)) - own.begin;
            ASSERT_TRUE(position >= 0 && position < int64_t(seen.size())); // spare rows, too
            if (row >= share.valid(k))
              continue;
            ++seen[size_t(position)];
            EXPECT_GE(length, needs[rank][size_t(position)]);
          }
      }
      EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
    }
  }
}

TEST(Division, FewerRowsMakeMoreMicroSteps) {
  std::vector<uint8_t> needs(7, 0);
  std::vector<LengthSpec> lengths = {{{8}, 4, 1}};
  EXPECT_EQ(Division(needs, lengths, 1, 0).steps, 2U);
  EXPECT_EQ(Division(needs, lengths, 1, 0, /*rows=*/1).steps, 7U);
}

} // namespace
