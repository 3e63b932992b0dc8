// SPDX-License-Identifier: Apache-2.0
// A million steps in two thousand points, and no extreme is lost.
#include "tools/accum-run/records/RunCurve.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace accum::run;

TEST(RunCurve, AMillionStepsKeepTheirExtremesAndTheirSum) {
  RunCurve curve;
  double sum = 0;
  for (uint64_t step = 1; step <= 1'000'003; ++step) {
    double value = step == 654'321 ? 1e9 : step == 7 ? -5 : std::sin(double(step));
    sum += value;
    curve.add(step, value);
    ASSERT_LE(curve.points().size(), RunCurve::kMostPoints);
  }
  EXPECT_GE(curve.points().size(), RunCurve::kMostPoints / 2 - 1);
  EXPECT_EQ(curve.greatest(), 1e9);
  EXPECT_EQ(curve.least(), -5);
  uint64_t steps = 0, before = 0;
  double total = 0;
  for (const RunCurve::Point &point : curve.points()) {
    EXPECT_EQ(point.step, before + point.count);
    EXPECT_TRUE(point.least <= point.mean() && point.mean() <= point.greatest);
    EXPECT_EQ(point.greatest == 1e9, before < 654'321 && 654'321 <= point.step);
    before = point.step;
    steps += point.count;
    total += point.sum;
  }
  EXPECT_EQ(steps, 1'000'003U);
  EXPECT_NEAR(total, sum, 1e-3);
}

TEST(RunCurve, WhatIsNotFiniteIsLeftOut) {
  RunCurve curve;
  curve.add(1, NAN);
  curve.add(2, 3);
  curve.add(3, INFINITY);
  ASSERT_EQ(curve.points().size(), 1U);
  EXPECT_EQ(curve.points()[0].step, 2U);
}
