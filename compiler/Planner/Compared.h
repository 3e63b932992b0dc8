// SPDX-License-Identifier: Apache-2.0
// What of all that was looked at is best at one micro-batch size.
#pragma once
#include "compiler/Planner/Alternatives.h"
#include "compiler/Planner/Front.h"
#include <cmath>

namespace accum::planner {

/// Seconds that an alternative adds to a micro-step.
inline double added(const Alternative &alternative, const TimeModel &times,
                    const std::vector<RegionTime> &classTimes, int64_t m) {
  double sum = alternative.itinerary.seconds(times, classTimes, m);
  for (auto [cost, count] : alternative.costs)
    sum += classTimes[cost].total * count;
  return sum;
}

/// At least so many, without what its copies take: never more, however sums are rounded.
inline double leastAdded(const Alternative &alternative, const std::vector<RegionTime> &classTimes) {
  double sum = 0, largest = 0;
  for (auto [cost, count] : alternative.costs) {
    sum += classTimes[cost].total * count;
    largest = std::max(largest, std::abs(sum));
  }
  return alternative.itinerary.isEmpty() ? sum : sum - 1e-12 * largest;
}

/// A micro-batch size at which alternatives are compared.
struct Compared {
  int64_t m = 0;
  int end = 0;                             ///< of the crowdedness: 0 the smallest size, 1 the largest
  std::vector<RegionTime> classTimes = {}; ///< of a micro-step, per cost class
  Front lowest = {}, emptiest = {};        ///< by peak, and by how crowded it is

  /// Whether nothing that is as fast is lower, or less crowded.
  bool add(const Alternative &entry, const TimeModel &times, int64_t hostMemory, int index) {
    if (entry.itinerary.bytesAt(m) > hostMemory)
      return false;
    auto bytes = static_cast<double>(entry.peak.at(m));
    double least = leastAdded(entry, classTimes), crowded = entry.peak.crowded[end];
    if (lowest.hides(least, bytes) && emptiest.hides(least, crowded)) // it need not be timed
      return false;
    double seconds = added(entry, times, classTimes, m);
    bool isLow = lowest.add({seconds, bytes, index});
    return emptiest.add({seconds, crowded, index}) || isLow;
  }
};

} // namespace accum::planner
