// SPDX-License-Identifier: Apache-2.0
#include "compiler/Planner/Time/FeedTime.h"
#include <algorithm>

namespace accum::planner {

std::optional<TimeLine> feedTime(const Problem &problem, const DeviceProfile &profile, const TimeModel &times,
                                 const Cut &cut, double micro) {
  double bytes = 0;
  for (const FixedMemory &buffer : problem.fixed)
    if (buffer.kind == FixedKind::Inputs)
      bytes += buffer.bytes.real(cut.m);
  if (bytes <= 0)
    return {};
  auto steps = static_cast<double>(cut.steps);
  double within = times.throughMemory(2 * bytes);
  if (!profile.isCuda()) {
    auto copy = profile.costs.find("copy_bytes");
    return TimeLine{"feed", steps * (copy == profile.costs.end() ? within : copy->second * bytes)};
  }
  if (profile.hostLinkBandwidth == 0)
    return TimeLine{"feed", steps * within};
  double link = times.overLink(bytes);
  double exposed = link + (steps - 1) * std::max(0.0, link - micro);
  return TimeLine{"feed", exposed + steps * within, steps * link - exposed};
}

} // namespace accum::planner
