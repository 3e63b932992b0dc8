// SPDX-License-Identifier: Apache-2.0
// Error functions, arcs and angles against the C library and series.
#include "test/passes/Codegen/ElementwiseCase.h"
#include <numbers>

using namespace accum::test;

namespace {

class ErrorFunctions : public Elementwise {};
INSTANTIATE_TEST_SUITE_P(, ErrorFunctions, testing::ValuesIn(allModes()), nameOf);

/// From 10 on by the continued fraction 1 / (x + (1/2) / (x + 1 / (x + (3/2) / (x + ...)))).
double erfcx(double v) {
  if (v < 10) {
    long double x = v;
    return static_cast<double>(std::exp(x * x) * std::erfc(x));
  }
  double rest = v;
  for (int k = 60; k > 0; --k)
    rest = v + k / 2.0 / rest;
  return std::numbers::inv_sqrtpi / rest;
}

/// 2 x erfcx(x) - 2 / sqrt(pi), from 30 on by its asymptotic series.
double erfcxGrad(double v) {
  if (v < 4) {
    long double x = v, two = 2;
    return static_cast<double>(two * x * std::exp(x * x) * std::erfc(x) - two / std::sqrt(std::acos(-1.0L)));
  }
  if (v < 30) { // the same continued fraction: 2 x / rest - 2 = -2 (rest - x) / rest
    double tail = 0;
    for (int k = 200; k > 0; --k)
      tail = k / 2.0 / (v + tail);
    return -2 * std::numbers::inv_sqrtpi * tail / (v + tail);
  }
  double term = 1, sum = 0;
  for (int k = 1; k < 10; ++k)
    sum += term *= -(2 * k - 1) / (2 * v * v);
  return 2 * std::numbers::inv_sqrtpi * sum;
}

TEST_P(ErrorFunctions, ErrorFunctionsInTheirTails) {
  Array x, right;
  for (double v = 0.001; v < 1e9; v *= 1.3)
    right.push_back(static_cast<float>(v));
  for (double v = -9; v < 9; v += 0.37)
    x.push_back(static_cast<float>(v));
  // A card's exponential is off by 2^-24 of its argument, 81.
  double factor = GetParam().isSim() ? 60 : 8;
  checkRatios("erfc", x, [](double v) { return std::erfc(v); }, factor);
  checkRatios("erfcx", x, erfcx, factor);
  checkRatios("erfcx", right, erfcx, 8);
  checkRatios("erfcx_grad", right, erfcxGrad, 16);
  checkRatios("erfcx_grad", x, erfcxGrad, factor * 2);
  checkRatios(
      "log_erfc", right, [](double v) { return v < 9 ? std::log(std::erfc(v)) : std::log(erfcx(v)) - v * v; },
      16);
  checkRatios(
      "log_erfc", x, [](double v) { return v < 0.5 ? std::log1p(-std::erf(v)) : std::log(std::erfc(v)); }, 8);
}

TEST_P(ErrorFunctions, ArcFunctions) {
  Array x, wide;
  for (double v = 1e-7; v < 1; v *= 1.7)
    for (double at : {v, -v, 1 - v, v - 1})
      x.push_back(static_cast<float>(at));
  x.insert(x.end(), {0.5, -0.5});
  for (double v = 1e-30; v < 1e30; v *= v > 0.1 && v < 10 ? 1.01 : 3.7)
    wide.insert(wide.end(), {static_cast<float>(v), static_cast<float>(-v)});
  checkRatios("asin", x, [](double v) { return std::asin(v); }, 4);
  checkRatios("acos", x, [](double v) { return std::acos(v); }, 4);
  checkRatios("atan", wide, [](double v) { return std::atan(v); }, 4);
  Array ends = {1, -1, 0, kNaN, 2};
  check("asin", ends, [](double v) { return std::asin(v); });
  check("acos", ends, [](double v) { return std::acos(v); });
  check("atan", {kInf, -kInf, 0, kNaN}, [](double v) { return std::atan(v); });
}

TEST_P(ErrorFunctions, AngleOfAPoint) {
  Array y, x, expected;
  for (double a : {0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30, 2.5e30, -1e20, 0.3})
    for (double b : {0.0, -0.0, 1.0, -1.0, 1e-30, -3e30, 0.2, -7.0}) {
      y.push_back(static_cast<float>(a));
      x.push_back(static_cast<float>(b));
      expected.push_back(std::atan2(y.back(), x.back()));
    }
  expectClose(call(binary("atan2", "$T", y.size(), "$T"), {y, x})[0], expected, 2);
}

} // namespace
