// SPDX-License-Identifier: Apache-2.0
// Greedy packing: rectangles one by one, in descending weight.
#pragma once
#include "compiler/Planner/Packing/Packing.h"

namespace accum::planner {

/// length^a * size^b * (the largest load that it lives through, of the largest of all)^c. A large c packs the
/// fullest moments first, where there is no room to spare, and leaves the rest for later.
struct Preference {
  double length, size, load = 0;
};
/// Stacks of nested lifetimes have no gaps.
constexpr Preference kStacked = {1, 0};
/// What first fit places first.
constexpr Preference kPreferences[] = {{1, 1}, {1, 0}, {0, 1}, {2, 1}, {1, 2}};

/// Weights of rectangles whose loads are summed once.
class GreedyWeights {
public:
  explicit GreedyWeights(std::span<const Rectangle> rectangles);

  /// Per rectangle, not negative.
  std::vector<double> of(const Preference &preference) const;
  /// Indices in descending weight; ties by size, then by index, so that the order is a function of the input.
  std::vector<int> order(const Preference &preference) const;
  double meanLength() const;

private:
  std::span<const Rectangle> rectangles;
  std::vector<double> fullness; ///< per rectangle: the largest load it lives through, of the largest of all
};

/// Puts each on top of everything placed in its interval; gaps below stay. O(n log T).
Packing stackUp(std::span<const Rectangle> rectangles, std::span<const int> order);

/// Puts each into the lowest gap that holds it. O(n^2), with a small constant. Ends with a height of
/// INT64_MAX where the deadline passes.
Packing firstFit(std::span<const Rectangle> rectangles, std::span<const int> order, Deadline deadline = {});

} // namespace accum::planner
