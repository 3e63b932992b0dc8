// SPDX-License-Identifier: Apache-2.0
// Interpolation in logarithms.
#include "compiler/Planner/Time/TimeTables.h"
#include "compiler/Planner/Time/TileSchedule.h"
#include <algorithm>
#include <cmath>

namespace accum::planner {

namespace {

/// A place on an axis: between `low` and the one behind it, `part` of the way; on the axis where it is
/// beyond.
struct Place {
  size_t low = 0;
  double part = 0;
  double value = 0;
};

/// Of a product: a weight gradient sums over its rows.
size_t rowsAxis(std::string_view call) { return call == "gemm-tn" ? 2 : 0; }

/// A product of so many rows takes twice as long as its share of one with many more: the rest is for its
/// weights. 2 x 9719 x 416 takes 0.8 ms, 16 rows of it 1.3.
constexpr double kRowsOfWeights = 24;

/// Fewer than a table's first count as what they take as long as.
void countFewRows(double &rows, double first) {
  if (rows < first)
    rows = first * (rows + kRowsOfWeights) / (first + kRowsOfWeights);
}

Place placeOn(const std::vector<int64_t> &axis, double value) {
  value = std::clamp(value, static_cast<double>(axis.front()), static_cast<double>(axis.back()));
  size_t above = 0;
  while (above < axis.size() && static_cast<double>(axis[above]) <= value)
    ++above;
  size_t low = above - 1;
  if (low + 1 == axis.size())
    return {low, 0, value};
  double from = std::log(static_cast<double>(axis[low])), to = std::log(static_cast<double>(axis[low + 1]));
  return {low, (std::log(value) - from) / (to - from), value};
}

} // namespace

void TimeTable::level(int count) {
  threads = count;
  even = seconds;
  if (threads == 0)
    return even.clear();
  size_t index = 0;
  for (int64_t x : axes[0])
    for (int64_t y : axes[1])
      for (int64_t z : axes[2])
        even[index++] /= unevenness(
            call, dtype, {static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)}, threads);
}

double TimeTable::at(const std::array<double, 3> &point, double uneven) const {
  const std::vector<double> &times = threads > 0 ? even : seconds;
  double factor = threads > 0 ? uneven : 1;
  std::array<Place, 3> places;
  for (size_t axis = 0; axis < 3; ++axis)
    places[axis] = placeOn(axes[axis], point[axis]);
  double logarithm = 0, alone = 0;
  int corners = 0;
  for (unsigned corner = 0; corner < 8; ++corner) {
    double weight = 1;
    size_t index = 0;
    for (size_t axis = 0; axis < 3; ++axis) {
      unsigned high = corner >> axis & 1U;
      weight *= high != 0 ? places[axis].part : 1 - places[axis].part;
      index = index * axes[axis].size() + places[axis].low + high;
    }
    if (weight == 0)
      continue;
    alone = times[index];
    logarithm += weight * std::log(alone);
    ++corners;
  }
  double inside = corners == 1 ? alone : std::exp(logarithm); // a point of the grid is exact
  std::array<double, 3> nearest = {places[0].value, places[1].value, places[2].value}, counted = point;
  if (call.starts_with("gemm-"))
    countFewRows(counted[rowsAxis(call)], static_cast<double>(axes[rowsAxis(call)].front()));
  double ratio = nearest == counted ? 1 : callWork(call, counted) / callWork(call, nearest);
  return inside * factor * ratio;
}

const TimeTable *findTable(const std::vector<TimeTable> &tables, std::string_view call,
                           std::string_view dtype, Operands operands) {
  for (const TimeTable &table : tables)
    if (table.call == call && table.dtype == dtype && table.operands == operands)
      return &table;
  return nullptr;
}

double MissCurve::at(double touched) const {
  if (bytes.empty())
    return 0;
  Place place = placeOn(bytes, touched);
  return place.part == 0 ? missed[place.low]
                         : (1 - place.part) * missed[place.low] + place.part * missed[place.low + 1];
}

double MissCurve::mean(double touched) const {
  if (touched <= 0)
    return at(0);
  constexpr int kParts = 64;
  double sum = 0;
  for (int part = 0; part < kParts; ++part)
    sum += at(touched * (part + 0.5) / kParts);
  return sum / kParts;
}

double blend(const TimeTable &near, const TimeTable *far, double missed, const std::array<double, 3> &point,
             double uneven) {
  double seconds = near.at(point, uneven);
  if (!far || missed == 0)
    return seconds;
  std::array<double, 3> fewer = point;
  size_t rows = rowsAxis(far->call);
  fewer[rows] = std::min(fewer[rows], static_cast<double>(far->axes[rows].back()));
  double there = far->threads > 0 ? unevenness(far->call, far->dtype, fewer, far->threads) : 1;
  return seconds + missed * std::max(0.0, far->at(fewer, there) - near.at(fewer, there));
}

} // namespace accum::planner
