// SPDX-License-Identifier: Apache-2.0
// Measured times of library calls over a grid of sizes.
#pragma once
#include "compiler/Planner/CallShape.h"
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace accum::planner {

/// Seconds at every point of axes[0] x axes[1] x axes[2], the last one fastest. Axes ascend strictly.
struct TimeTable {
  std::string call = {}; ///< CallShape::name
  std::string dtype = {};
  std::array<std::vector<int64_t>, 3> axes = {};
  std::vector<double> seconds = {};
  double spread =
      0; ///< how far the repetitions of a point lie apart: the median of (upper - lower quartile) / median

  /// Between points, time is multilinear in the logarithms of sizes and time, so that powers of the sizes are
  /// exact; where the times of a cell ascend along an axis, so does what lies between them. Outside of the
  /// grid the time is that of the nearest point of it, times the ratio of their work (`callWork`).
  double at(const std::array<double, 3> &point) const;
};

/// The table of a call in that arithmetic; null where there is none.
const TimeTable *findTable(const std::vector<TimeTable> &tables, std::string_view call,
                           std::string_view dtype);

} // namespace accum::planner
