// SPDX-License-Identifier: Apache-2.0
// A vertical axis with round ticks.
#include "compiler/Report/Axis.h"
#include "compiler/Report/Markup.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accum::planner::report {

Axis::Axis(double low, double high, bool logarithmic) : from(low), to(high), logarithmic(logarithmic) {
  if (!(to > from))
    to = from + 1;
}

double Axis::at(double value) const {
  double share = logarithmic ? std::log(std::max(value, from * 1e-3) / from) / std::log(to / from)
                             : (value - from) / (to - from);
  return 1 - share;
}

std::vector<double> Axis::ticks(int count) const {
  std::vector<double> values;
  if (logarithmic) {
    double first = std::ceil(std::log2(from)), step = std::max(1.0, std::ceil(std::log2(to / from) / count));
    for (int k = 0; std::exp2(first + k * step) <= to; ++k)
      values.push_back(std::exp2(first + k * step));
    return values;
  }
  double rough = (to - from) / count, power = std::pow(10, std::floor(std::log10(rough)));
  double step = power * (rough <= power ? 1 : rough <= 2 * power ? 2 : rough <= 5 * power ? 5 : 10);
  double first = std::ceil(from / step - 1e-9);
  for (int k = 0; (first + k) * step <= to * (1 + 1e-12); ++k)
    values.push_back((first + k) * step);
  return values;
}

std::string gridLine(const Axis &axis, double value, const std::string &label) {
  std::string y = percent(axis.at(value));
  return fmt::format(
      "<line class='grid' x1='0' x2='100%' y1='{0}' y2='{0}'/><text class='tick' x='-6' y='{0}' "
      "dy='4'>{1}</text>\n",
      y, escape(label));
}

std::string tickText(double value, double step) {
  int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
  return fmt::format("{:.{}f}", value == 0 ? 0.0 : value, digits); // no -0
}

} // namespace accum::planner::report
