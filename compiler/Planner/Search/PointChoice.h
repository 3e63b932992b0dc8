// SPDX-License-Identifier: Apache-2.0
// The best of the points that a search space considers.
#pragma once
#include "compiler/Planner/Search/SearchSpace.h"

namespace accum::planner {

/// Predicted times are no better than this, as a part of them: what is closer to the fastest is as fast.
double toleranceOf(const DeviceProfile &profile);

struct ChosenPoint {
  int point = kNoIndex;
  int fastest = kNoIndex; ///< of those that fit
  Packing packing = {};   ///< of the point
};

class PointChooser {
public:
  PointChooser(SearchSpace &points, const DeviceProfile &profile, const Options &options)
      : points(points), options(options), tolerance(toleranceOf(profile)) {}

  int64_t budget = 0; ///< bytes

  bool fits(int point) const { return points.counted(point) <= budget; }
  /// As `Options::prefer` says: the fastest that fits, the one with least memory among those that are as
  /// fast, or the one with least memory. No point where nothing fits.
  ChosenPoint choose();
  /// The point that needs least memory, packed: the smallest budget that works. Where many bounds are too
  /// low, it is the lowest of a few.
  int smallest();

private:
  int fastestThatFits(ChosenPoint &chosen);
  int leastMemoryWithin(int64_t limit, ChosenPoint &chosen);
  int takeSmallest(ChosenPoint &chosen);
  int leastOfAll() const;

  SearchSpace &points;
  const Options &options;
  double tolerance;
};

} // namespace accum::planner
