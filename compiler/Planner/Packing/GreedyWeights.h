// SPDX-License-Identifier: Apache-2.0
// What greedy passes place first, as a weight per rectangle.
#pragma once
#include "compiler/Planner/Packing/Packing.h"

namespace accum::planner {

/// length^a * size^b * (the largest load that it lives through, of the largest of all)^c. A large c packs the
/// fullest moments first, where there is no room to spare, and leaves the rest for later.
struct Preference {
  double length, size, load = 0;
};

/// Weights of rectangles whose loads are summed once.
class GreedyWeights {
public:
  explicit GreedyWeights(std::span<const Rectangle> rectangles);

  /// Per rectangle, not negative.
  std::vector<double> of(const Preference &preference) const;
  double meanLength() const;

private:
  std::span<const Rectangle> rectangles;
  std::vector<double> fullness; ///< per rectangle: the largest load it lives through, of the largest of all
};

/// Indices in descending weight; ties by size, then by index, so that the order is a function of the input.
std::vector<int> orderedBy(std::span<const Rectangle> rectangles, const std::vector<double> &weights);

} // namespace accum::planner
