// SPDX-License-Identifier: Apache-2.0
// Measured times of library calls over a grid of sizes.
#pragma once
#include "compiler/Planner/Problem/CallShape.h"
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace accum::planner {

/// Where a call finds its larger operand, the weights or the gradients that it adds to: in a cache, because
/// little else has been touched since it was used last, or in memory.
enum class Operands : uint8_t { Near, Far };

/// Seconds at every point of axes[0] x axes[1] x axes[2], the last one fastest. Axes ascend strictly.
struct TimeTable {
  std::string call = {}; ///< CallShape::name
  std::string dtype = {};
  std::array<std::vector<int64_t>, 3> axes = {};
  std::vector<double> seconds = {};
  double spread =
      0; ///< how far the repetitions of a point lie apart: the median of (upper - lower quartile) / median
  Operands operands = Operands::Near;
  /// The library's threads, which share a call in pieces (TileSchedule.h); 0: how is not known. Set
  /// it with `level`.
  int threads = 0;
  std::vector<double> even = {}; ///< with threads: what `seconds` would be if all of them worked as long

  /// Says that so many threads share the calls.
  void level(int count);

  /// Between points, time is multilinear in the logarithms of sizes and time, so that powers of the sizes are
  /// exact; where the times of a cell ascend along an axis, so does what lies between them. Outside of the
  /// grid the time is that of the nearest point of it, times the ratio of their work (`callWork`), where few
  /// rows of a product still have to read its weights. With threads, all this is so of even times, and
  /// `uneven` says what the call makes of them.
  double at(const std::array<double, 3> &point, double uneven = 1) const;
};

/// The table of a call in that arithmetic; null where there is none.
const TimeTable *findTable(const std::vector<TimeTable> &tables, std::string_view call,
                           std::string_view dtype, Operands operands = Operands::Near);

/// How much of what is read comes from memory and not from a cache, by the bytes that were touched since it
/// was used last. Ascending in both.
struct MissCurve {
  std::vector<int64_t> bytes = {};
  std::vector<double> missed = {}; ///< 0 to 1

  /// Linear in the logarithm of bytes; constant outside. Without points: 0.
  double at(double touched) const;
  /// The mean of `at` from 0 to `touched`.
  double mean(double touched) const;
};

/// Seconds of a call whose weights come from memory in that part, from tables of one call in one arithmetic.
/// Waiting for them adds to the near time what the far table has over it; with more rows than that table
/// has, as long as with its most. `far` may be null.
double blend(const TimeTable &near, const TimeTable *far, double missed, const std::array<double, 3> &point,
             double uneven);

} // namespace accum::planner
