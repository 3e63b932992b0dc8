// SPDX-License-Identifier: Apache-2.0
// Runs of gradients, against what must hold of them for random commands.
#include "compiler/Planner/Time/GradientBuckets.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace accum::planner;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(GradientBuckets, NeighboursAreSentTogether) {
  // Backwards, as a model's layers are; gradient 0 by the last command.
  EXPECT_THAT(gradientBuckets({40, 10, 10, 10, 10}, {9, 6, 5, 3, 1}, 9),
              ElementsAre(GradientBucket{1, 4, 4, 10}, GradientBucket{3, 3, 3, 10},
                          GradientBucket{5, 2, 2, 10}, GradientBucket{6, 1, 1, 10}));
  EXPECT_THAT(gradientBuckets({40, 4, 4, 4, 4}, {9, 6, 5, 3, 1}, 9),
              ElementsAre(GradientBucket{3, 3, 4, 8}, GradientBucket{6, 1, 2, 8}));
}

TEST(GradientBuckets, OneBetweenOthersHoldsThemTogetherLater) {
  EXPECT_THAT(gradientBuckets({7, 2, 7, 30}, {1, 4, 2, 8}, 8),
              ElementsAre(GradientBucket{1, 0, 0, 7}, GradientBucket{2, 2, 2, 7}));
  EXPECT_THAT(gradientBuckets({4, 2, 4, 40}, {1, 4, 2, 8}, 8), ElementsAre(GradientBucket{4, 0, 2, 10}));
}

TEST(GradientBuckets, NothingIsSentThatNothingRunsBeside) {
  EXPECT_THAT(gradientBuckets({10, 10}, {3, 3}, 3), IsEmpty());
  EXPECT_THAT(gradientBuckets({10, 10}, {kNeverFinal, kNeverFinal}, 3), IsEmpty());
  EXPECT_THAT(gradientBuckets({}, {}, 0), IsEmpty());
}

TEST(GradientBuckets, LargeGradientsGoInPiecesOfTheLinksSize) {
  EXPECT_EQ(leastBucketBytes(int64_t(500) << 20), 32 << 20);
  EXPECT_EQ(leastBucketBytes(80), 10);
}

TEST(GradientBuckets, EachIsFinalSentOnceAndLargeEnough) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    size_t count = random() % 12, end = 1 + random() % 20;
    std::vector<int64_t> bytes(count);
    std::vector<size_t> finalAfter(count);
    int64_t all = 0;
    for (size_t i = 0; i < count; ++i) {
      all += bytes[i] = 1 + random() % 50;
      finalAfter[i] = random() % 10 == 0 ? kNeverFinal : random() % (end + 1);
    }
    std::vector<int> sent(count);
    size_t previous = 0;
    for (const GradientBucket &bucket : gradientBuckets(bytes, finalAfter, end)) {
      EXPECT_GE(bucket.after, previous);
      EXPECT_LT(bucket.after, end);
      previous = bucket.after;
      int64_t sum = 0;
      for (size_t i = bucket.first; i <= bucket.last; ++i) {
        EXPECT_LE(finalAfter[i], bucket.after);
        ++sent[i];
        sum += bytes[i];
      }
      EXPECT_EQ(sum, bucket.bytes);
      EXPECT_GE(sum, leastBucketBytes(all));
    }
    for (size_t i = 0; i < count; ++i) {
      EXPECT_LE(sent[i], 1);
      if (finalAfter[i] < end && bytes[i] >= leastBucketBytes(all))
        EXPECT_EQ(sent[i], 1); // large enough alone
    }
  }
}
