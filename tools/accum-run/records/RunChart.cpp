// SPDX-License-Identifier: Apache-2.0
// Grid, labels and marks are placed in percent; the curve is a drawing of 1,000 x 1,000 that is stretched.
#include "tools/accum-run/records/RunChart.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <initializer_list>
#include <ranges>

namespace accum::run {
namespace {

constexpr int kTicks = 4, kSteps = 8; ///< about so many labels
/// Between the curve and the edge, as a part of the range.
constexpr double kMargin = 0.04;

/// Round values in [low, high], of which there are about `count`; mostly at least two.
std::vector<double> ticks(double low, double high, int count) {
  double rough = (high - low) / count, power = std::pow(10, std::floor(std::log10(rough))), step = power;
  for (double times : {2.0, 5.0, 10.0})
    if (step < rough)
      step = times * power;
  std::vector<double> values;
  auto first = int64_t(std::ceil(low / step - 1e-9));
  for (int64_t k = first; double(k) * step <= high + 1e-9 * step; ++k)
    values.push_back(double(k) * step);
  return values.size() > 1 || count > 2 * kSteps ? values : ticks(low, high, 2 * count);
}

/// `times` powers of ten in [low, high].
std::vector<double> multiples(double low, double high, std::initializer_list<double> times) {
  std::vector<double> values;
  for (double exponent = std::floor(std::log10(low)); exponent <= std::log10(high); ++exponent)
    for (double factor : times)
      if (double value = factor * std::pow(10, exponent); low <= value && value <= high)
        values.push_back(value);
  return values;
}

/// The same for an axis whose powers of ten are equally far apart: these, or where few of them fit also two
/// and five times each.
std::vector<double> powers(double low, double high, int count) {
  std::vector<double> values;
  for (double exponent : ticks(std::log10(low), std::log10(high), count))
    if (exponent == std::floor(exponent))
      values.push_back(std::pow(10, exponent));
  if (values.size() <= 2)
    values = multiples(low, high, {1, 2, 5});
  return values.size() > 1 ? values : ticks(low, high, count);
}

class Drawing {
public:
  explicit Drawing(const RunChart &chart) : chart(chart) { chart.isLogarithmic ? takePowers() : takeRange(); }

  std::string draw() const;

private:
  /// Zeros are drawn at the edge.
  void takePowers() {
    constexpr double kMostPowers = 1e-8;
    high = chart.curve.greatest() > 0 ? chart.curve.greatest() : 1;
    low = std::clamp(chart.curve.least(), high * kMostPowers, high);
    double margin = low < high ? std::pow(high / low, kMargin) : 1.1;
    high *= margin;
    low /= margin;
  }

  void takeRange() {
    low = chart.fromZero ? 0 : chart.curve.least();
    high = chart.curve.greatest();
    if (chart.dots && !chart.dots->empty()) {
      low = std::min(low, chart.dots->least());
      high = std::max(high, chart.dots->greatest());
    }
    high = std::max(high, chart.limit.value_or(high));
    if (high <= low)
      high = low + (low == 0 ? 1 : std::fabs(low) * 0.1);
    double margin = kMargin * (high - low);
    high += margin;
    low -= chart.fromZero ? 0 : margin;
  }

  double x(uint64_t step) const {
    return chart.to > chart.from ? double(step - chart.from) / double(chart.to - chart.from) : 0.5;
  }
  double y(double value) const {
    if (chart.isLogarithmic)
      return 1 - std::log(std::max(value, low) / low) / std::log(high / low);
    return 1 - (value - low) / (high - low);
  }
  std::string grid() const;
  std::string steps() const;
  std::string line() const;
  std::string others() const;

  const RunChart &chart;
  double low, high;
};

std::string Drawing::grid() const {
  std::string text;
  for (double tick : chart.isLogarithmic ? powers(low / chart.unit, high / chart.unit, kTicks)
                                         : ticks(low / chart.unit, high / chart.unit, kTicks)) {
    double value = tick * chart.unit;
    text += fmt::format("<line class='grid' x1='0' x2='100%' y1='{0:.3f}%' y2='{0:.3f}%'/><text class='tick' "
                        "x='-6' y='{0:.3f}%' dy='4'>{1}</text>\n",
                        100 * y(value), escaped(chart.label(value)));
  }
  return text;
}

/// Below the curve.
std::string Drawing::steps() const {
  std::string text;
  for (double step : ticks(double(chart.from), double(chart.to), kSteps))
    if (step == std::floor(step))
      text += fmt::format("<text class='tick step' x='{:.3f}%' y='100%' dy='16'>{}</text>\n",
                          100 * x(uint64_t(step)), uint64_t(step));
  return text;
}

/// The band from the least to the greatest of each point, and the mean in it.
std::string Drawing::line() const {
  std::string band, back, mean;
  for (const RunCurve::Point &point : chart.curve.points()) {
    double at = 1000 * x(point.step);
    band += fmt::format("{:.2f},{:.2f} ", at, 1000 * y(point.greatest));
    mean += fmt::format("{:.2f},{:.2f} ", at, 1000 * y(point.mean()));
  }
  for (const RunCurve::Point &point : std::views::reverse(chart.curve.points()))
    back += fmt::format("{:.2f},{:.2f} ", 1000 * x(point.step), 1000 * y(point.least));
  return fmt::format("<svg viewBox='0 0 1000 1000' preserveAspectRatio='none' width='100%' height='100%' "
                     "overflow='visible'><polygon class='band' points='{}{}'/><polyline class='run' "
                     "points='{}'/></svg>\n",
                     band, back, mean);
}

std::string Drawing::others() const {
  std::string text;
  if (const auto &points = chart.curve.points(); points.size() == 1) // no line shows it
    text += fmt::format("<circle class='only' r='2.5' cx='{:.3f}%' cy='{:.3f}%'/>\n", 100 * x(points[0].step),
                        100 * y(points[0].mean()));
  if (chart.limit)
    text += fmt::format("<line class='limit' x1='0' x2='100%' y1='{0:.3f}%' y2='{0:.3f}%'/>\n",
                        100 * y(*chart.limit));
  if (chart.marks)
    for (const RunCurve::Point &point : chart.marks->points())
      text += fmt::format("<line class='skip' x1='{0:.3f}%' x2='{0:.3f}%' y1='0' y2='100%'><title>step {1}: "
                          "{2:.0f} skipped</title></line>\n",
                          100 * x(point.step), point.step, point.sum);
  if (chart.dots)
    for (const RunCurve::Point &point : chart.dots->points())
      text += fmt::format("<circle class='eval' r='3.5' cx='{:.3f}%' cy='{:.3f}%'><title>step {}: {}"
                          "</title></circle>\n",
                          100 * x(point.step), 100 * y(point.mean()), point.step,
                          escaped(chart.label(point.mean())));
  return text;
}

std::string Drawing::draw() const {
  return fmt::format(
      "<figure class='chart' data-curve='{}' data-from='{}' data-to='{}' data-unit='{}' "
      "data-suffix='{}'><figcaption>{}"
      "</figcaption>\n<svg height='180'>\n{}{}{}{}</svg>\n<div class='readout'></div></figure>\n",
      chart.id, chart.from, chart.to, chart.unit, chart.suffix, escaped(chart.title), grid(), steps(), line(),
      others());
}

} // namespace

std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text)
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    case '\'':
      result += "&#39;";
      break;
    default:
      result += c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 32 ? c : '?';
    }
  return result;
}

std::string RunChart::draw() const { return curve.empty() ? "" : Drawing(*this).draw(); }

} // namespace accum::run
