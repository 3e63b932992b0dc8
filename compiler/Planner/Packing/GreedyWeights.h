// SPDX-License-Identifier: Apache-2.0
// What greedy passes place first, as a weight per rectangle.
#pragma once
#include "compiler/Planner/Packing/Packing.h"

namespace accum::planner {

/// length^a * size^b * (the largest load that it lives through, of the largest of all)^c. A large c packs the
/// fullest moments first, where there is no room to spare, and leaves the rest for later.
struct Preference {
  double length, size, load = 0;
  bool byClock = false; ///< times what the clock counts of its length, of the whole
};

/// Weights of rectangles whose loads are summed once.
class GreedyWeights {
public:
  explicit GreedyWeights(std::span<const Rectangle> rectangles);

  /// Per rectangle, not negative.
  std::vector<double> of(const Preference &preference, std::span<const double> clock = {}) const;
  double meanLength() const;
  /// At a moment, of the largest of all.
  double load(int time) const { return loads[static_cast<size_t>(time)]; }

  /// What each moment's room is worth, summed over time from 0 to the horizon: 1 where the load is the
  /// largest, and `room / (room + what is free)` elsewhere, all as parts of the largest load.
  std::vector<double> clock(double room) const;

private:
  std::span<const Rectangle> rectangles;
  std::vector<double> loads;    ///< per time, of the largest of all
  std::vector<double> fullness; ///< per rectangle: the largest load it lives through, of the largest of all
};

/// Indices in descending weight; ties by size, then by index, so that the order is a function of the input.
std::vector<int> orderedBy(std::span<const Rectangle> rectangles, const std::vector<double> &weights);

} // namespace accum::planner
