// SPDX-License-Identifier: Apache-2.0
// Times between two, as shares.
#include "tools/accum-calibrate/Misses.h"
#include <algorithm>

namespace accum::calibrate {

planner::MissCurve missCurve(const std::vector<int64_t> &bytes, const std::vector<double> &seconds) {
  constexpr double kTold = 1.05;
  double near = seconds.front(), far = seconds.back();
  if (far < kTold * near)
    return {};
  planner::MissCurve curve{.bytes = bytes};
  double most = 0;
  for (double each : seconds) {
    most = std::clamp((each - near) / (far - near), most, 1.0);
    curve.missed.push_back(most);
  }
  return curve;
}

} // namespace accum::calibrate
