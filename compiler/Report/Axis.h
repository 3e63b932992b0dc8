// SPDX-License-Identifier: Apache-2.0
// A vertical axis with round ticks.
#pragma once
#include <string>
#include <vector>

namespace accum::planner::report {

/// Values to fractions of the drawing's height, 0 at the top.
class Axis {
public:
  /// From `low` to `high` > `low`; logarithmic only where low > 0.
  Axis(double low, double high, bool logarithmic = false);

  double at(double value) const;
  /// Round values inside, about `count` of them.
  std::vector<double> ticks(int count) const;
  double low() const { return from; }
  double high() const { return to; }
  bool contains(double value) const { return value >= from && value <= to; }

private:
  double from, to;
  bool logarithmic;
};

/// Grid lines over the whole width with a label left of the drawing.
std::string gridLine(const Axis &axis, double value, const std::string &label);

/// `0.5`, `12`, `1,500`: as many digits as steps of `step` need.
std::string tickText(double value, double step);

} // namespace accum::planner::report
