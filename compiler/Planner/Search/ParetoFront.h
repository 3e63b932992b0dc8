// SPDX-License-Identifier: Apache-2.0
// The Pareto front of time and memory, and the best of all evaluated choices at one micro-batch
// size.
#pragma once
#include "compiler/Planner/Search/Alternatives.h"
#include <algorithm>
#include <vector>

namespace accum::planner {

/// Members ascend in seconds and descend in bytes.
class ParetoFront {
public:
  struct Member {
    double seconds, bytes;
    int index;
  };

  /// Whether something as fast is not larger.
  bool hides(double seconds, double bytes) const {
    auto at = std::ranges::upper_bound(members, seconds, {}, &Member::seconds);
    return at != members.begin() && std::prev(at)->bytes <= bytes;
  }

  /// Whether it is one of them now; of equals the first stays.
  bool add(const Member &added) {
    if (hides(added.seconds, added.bytes))
      return false;
    auto at = std::ranges::upper_bound(members, added.seconds, {}, &Member::seconds);
    if (at != members.begin() && std::prev(at)->seconds == added.seconds)
      --at;
    auto end =
        std::find_if(at, members.end(), [&](const Member &member) { return member.bytes < added.bytes; });
    members.insert(members.erase(at, end), added);
    return true;
  }
  const std::vector<Member> &list() const { return members; }

private:
  std::vector<Member> members;
};

/// Seconds that an alternative adds to a micro-step.
inline double added(const Alternative &alternative, const std::vector<RegionTime> &classTimes) {
  double sum = 0;
  for (auto [cost, count] : alternative.costs)
    sum += classTimes[cost].total * count;
  return sum;
}

/// A micro-batch size at which alternatives are compared.
struct FrontsAtSize {
  int64_t m = 0;
  int end = 0;                             ///< of the crowdedness: 0 the smallest size, 1 the largest
  std::vector<RegionTime> classTimes = {}; ///< of a micro-step, per cost class
  ParetoFront lowest = {}, emptiest = {};  ///< by peak, and by how crowded it is

  /// Whether nothing that is as fast is lower, or less crowded.
  bool add(const Alternative &entry, int index) {
    double seconds = added(entry, classTimes);
    bool isLow = lowest.add({seconds, static_cast<double>(entry.peak.at(m)), index});
    return emptiest.add({seconds, entry.peak.crowded[end], index}) || isLow;
  }
};

} // namespace accum::planner
