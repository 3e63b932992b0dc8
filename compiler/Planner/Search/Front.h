// SPDX-License-Identifier: Apache-2.0
// What nothing that is as fast is smaller than.
#pragma once
#include <algorithm>
#include <vector>

namespace accum::planner {

/// Members ascend in seconds and descend in bytes.
class Front {
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

} // namespace accum::planner
