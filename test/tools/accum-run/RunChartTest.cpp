// SPDX-License-Identifier: Apache-2.0
// The labels of a logarithmic axis.
#include "tools/accum-run/records/RunChart.h"
#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <vector>

using namespace accum::run;

namespace {

std::vector<std::string> labels(std::vector<double> values) {
  RunCurve curve;
  for (size_t step = 0; step < values.size(); ++step)
    curve.add(step + 1, values[step]);
  std::vector<std::string> made;
  RunChart chart{.id = "norm", .title = "norm", .curve = curve, .label = {}};
  chart.to = values.size();
  chart.isLogarithmic = true;
  chart.label = [&](double value) { return made.emplace_back(fmt::format("{:g}", value)); };
  EXPECT_NE(chart.draw(), "");
  return made;
}

bool has(const std::vector<std::string> &made, const std::string &label) {
  return std::find(made.begin(), made.end(), label) != made.end();
}

} // namespace

TEST(RunChart, ALogarithmicAxisOfManyPowersHasThem) {
  std::vector<std::string> made = labels({0.001, 0.5, 900});
  EXPECT_TRUE(has(made, "0.01") && has(made, "1") && has(made, "100")) << made.size();
  EXPECT_FALSE(has(made, "2"));
}

TEST(RunChart, ALogarithmicAxisOfFewPowersHasTwoAndFiveTimesThem) {
  std::vector<std::string> made = labels({1.4, 3, 6});
  EXPECT_TRUE(has(made, "2") && has(made, "5")) << made.size();
  made = labels({0.7, 3, 12});
  EXPECT_TRUE(has(made, "1") && has(made, "2") && has(made, "5") && has(made, "10")) << made.size();
}

TEST(RunChart, ALogarithmicAxisWithinOnePowerHasRoundNumbers) {
  EXPECT_GE(labels({3.1, 3.4, 3.9}).size(), 2U);
}
