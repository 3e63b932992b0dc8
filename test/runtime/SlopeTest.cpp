// SPDX-License-Identifier: Apache-2.0
// Slopes judged by central differences, of functions whose slope is known: smooth, rounded, kinked, jumping.
#include "runtime/verify/Slope.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace accum::runtime::verify;

namespace {

using Function = std::function<double(double)>;

/// Of `function`, where a gradient says that it is `predicted`.
Slope judge(const Function &function, double predicted, double noise, double tolerance = 3e-3) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> rounding(0, noise);
  SlopeTask task{std::fabs(predicted), noise, 4000 * noise, 0.1, tolerance, 0.1};
  Slope slope;
  int code = judgeSlope(
      task,
      [&](double t, Sample &sample) {
        sample = {function(t) + rounding(random), predicted * t};
        return 0;
      },
      slope);
  EXPECT_EQ(code, 0);
  return slope;
}

double smooth(double t) { return 7 + 0.3 * std::sin(3 * t) + std::exp(-2 * t) + t * t; } // slope -1.1

constexpr double kSmoothSlope = -1.1;

} // namespace

TEST(Slope, AgreesWhereTheGradientIsRight) {
  for (double noise : {1e-15, 1e-9, 1e-7, 1e-6}) {
    Slope slope = judge(smooth, kSmoothSlope, noise);
    EXPECT_EQ(slope.verdict, SlopeVerdict::Agrees) << noise;
    EXPECT_LT(slope.error, 3e-3);
  }
}

TEST(Slope, APercentTooMuchIsWrong) {
  for (double factor : {0.99, 1.01, 0.0, -1.0, 2.0})
    for (double noise : {1e-15, 1e-9, 1e-7, 1e-6}) {
      Slope slope = judge(smooth, factor * kSmoothSlope, noise);
      EXPECT_EQ(slope.verdict, SlopeVerdict::Wrong) << factor << " " << noise;
      double apart = std::fabs(factor - 1), expected = apart / std::max({1.0, std::fabs(factor), apart});
      EXPECT_NEAR(slope.error, expected, 2e-3) << factor << " " << noise;
    }
}

TEST(Slope, ASlopeBelowTheRoundingIsTooSmall) {
  EXPECT_EQ(judge([](double t) { return 1 + 1e-7 * t; }, 1e-7, 1e-6).verdict, SlopeVerdict::TooSmall);
  EXPECT_EQ(judge([](double) { return 1; }, 0, 1e-7).verdict, SlopeVerdict::TooSmall);
  EXPECT_EQ(judge([](double) { return 1; }, 3e-9, 1e-7).verdict, SlopeVerdict::TooSmall);
}

/// What a lost gradient looks like.
TEST(Slope, AFunctionThatMovesWithoutAGradientIsWrong) {
  Slope slope = judge([](double t) { return 1 + 0.01 * t; }, 0, 1e-7);
  EXPECT_EQ(slope.verdict, SlopeVerdict::Wrong);
  EXPECT_NEAR(slope.error, 1, 1e-9);
}

TEST(Slope, AKinkAtThePointIsNamed) {
  auto hinge = [](double t) { return 2 + std::max(t, 0.0) + 0.2 * t * t; };
  for (double between : {0.0, 0.5, 1.0})
    EXPECT_EQ(judge([&](double t) { return hinge(t) + t; }, 1 + between, 1e-7).verdict,
              between == 0.5 ? SlopeVerdict::Agrees : SlopeVerdict::Kinked)
        << between;
  // No slope between the one-sided ones: 1 and 2.
  EXPECT_EQ(judge([&](double t) { return hinge(t) + t; }, 3, 1e-7).verdict, SlopeVerdict::Wrong);
}

TEST(Slope, AKinkBesideThePointDoesNotMatter) {
  for (double at : {-1e-4, 3e-5, 1e-3}) {
    auto hinge = [&](double t) { return 2 + t + 3 * std::max(t - at, 0.0); };
    double right = at < 0 ? 4 : 1;
    EXPECT_EQ(judge(hinge, right, 1e-9).verdict, SlopeVerdict::Agrees) << at;
    EXPECT_EQ(judge(hinge, 1.02 * right, 1e-9).verdict, SlopeVerdict::Wrong) << at;
  }
}

/// As where another expert is chosen.
TEST(Slope, AJumpIsNotTakenForASlope) {
  for (double at : {1e-6, 1e-4, 3e-3}) {
    Slope slope = judge([&](double t) { return 2 + t + (t > at ? 0.01 : 0); }, 1, 1e-7);
    EXPECT_NE(slope.verdict, SlopeVerdict::Wrong) << at;
  }
}

TEST(Slope, JumpsOnBothSidesAreNotTakenForASlope) {
  for (double at : {1e-6, 1e-4}) {
    auto jumps = [&](double t) { return 2 + t + (t > at ? 0.01 : 0) - (t < -2 * at ? 0.01 : 0); };
    EXPECT_NE(judge(jumps, 1, 1e-7).verdict, SlopeVerdict::Wrong) << at;
  }
}

TEST(Slope, WhereTheFunctionEndsItIsMeasuredCloser) {
  auto ends = [](double t) { return t > 0.01 ? NAN : 1 + std::log(0.02 - t); };
  EXPECT_EQ(judge(ends, -50, 1e-6).verdict, SlopeVerdict::Agrees);
  EXPECT_EQ(judge(ends, -45, 1e-6).verdict, SlopeVerdict::Wrong);
}
