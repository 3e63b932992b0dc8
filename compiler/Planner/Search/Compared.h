// SPDX-License-Identifier: Apache-2.0
// What of all that was looked at is best at one micro-batch size.
#pragma once
#include "compiler/Planner/Search/Alternatives.h"
#include "compiler/Planner/Search/Front.h"

namespace accum::planner {

/// Seconds that an alternative adds to a micro-step.
inline double added(const Alternative &alternative, const std::vector<RegionTime> &classTimes) {
  double sum = 0;
  for (auto [cost, count] : alternative.costs)
    sum += classTimes[cost].total * count;
  return sum;
}

/// A micro-batch size at which alternatives are compared.
struct Compared {
  int64_t m = 0;
  int end = 0;                             ///< of the crowdedness: 0 the smallest size, 1 the largest
  std::vector<RegionTime> classTimes = {}; ///< of a micro-step, per cost class
  Front lowest = {}, emptiest = {};        ///< by peak, and by how crowded it is

  /// Whether nothing that is as fast is lower, or less crowded.
  bool add(const Alternative &entry, int index) {
    double seconds = added(entry, classTimes);
    bool isLow = lowest.add({seconds, static_cast<double>(entry.peak.at(m)), index});
    return emptiest.add({seconds, entry.peak.crowded[end], index}) || isLow;
  }
};

} // namespace accum::planner
