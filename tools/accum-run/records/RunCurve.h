// SPDX-License-Identifier: Apache-2.0
// One number of each step, in memory that does not grow with the run.
#ifndef ACCUM_RUN_RECORDS_RUNCURVE_H
#define ACCUM_RUN_RECORDS_RUNCURVE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace accum::run {

/// Neighbouring steps share a point where there are more than kMostPoints: twice as many each time that
/// happens. A point keeps the least and the greatest of its values, so that no spike is lost.
class RunCurve {
public:
  static constexpr size_t kMostPoints = 2000;

  struct Point {
    uint64_t step; ///< the last one
    uint64_t count;
    double least, greatest, sum;

    double mean() const { return sum / double(count); }
  };

  /// `step` ascends; a value that is not finite is passed over.
  void add(uint64_t step, double value);

  const std::vector<Point> &points() const { return all; }
  bool empty() const { return all.empty(); }
  double least() const;
  double greatest() const;

private:
  void halve();

  std::vector<Point> all;
  uint64_t most = 1; ///< values in a point
};

} // namespace accum::run
#endif
