// SPDX-License-Identifier: Apache-2.0
// A curve over the steps of a run, as SVG that stretches with the page.
#ifndef ACCUM_RUN_RECORDS_RUNCHART_H
#define ACCUM_RUN_RECORDS_RUNCHART_H

#include "tools/accum-run/records/RunCurve.h"
#include <functional>
#include <optional>
#include <string>

namespace accum::run {

/// For element content and attribute values.
std::string escaped(const std::string &text);

struct RunChart {
  std::string id, title; ///< id: of the curve in the page's JSON
  const RunCurve &curve;
  uint64_t from = 0, to = 1;        ///< steps at the left and right edge
  const RunCurve *dots = nullptr;   ///< a second curve, of few points
  const RunCurve *marks = nullptr;  ///< steps that get a vertical line
  std::optional<double> limit = {}; ///< a horizontal line
  bool fromZero = false;            ///< the axis starts there
  bool isLogarithmic = false;       ///< of positive numbers, so that one spike does not flatten the rest
  double unit = 1;                  ///< values of the axis are round in it
  std::string suffix = "";          ///< that unit's name, with a space before it
  std::function<std::string(double)> label; ///< of a value

  /// A figure; empty where the curve is.
  std::string draw() const;
};

} // namespace accum::run
#endif
