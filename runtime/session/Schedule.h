// SPDX-License-Identifier: Apache-2.0
// The learning rate of each optimizer step: warm-up, then a schedule down to a floor.
#ifndef ACCUM_RUNTIME_SESSION_SCHEDULE_H
#define ACCUM_RUNTIME_SESSION_SCHEDULE_H

#include "runtime/system/Status.h"
#include <cstdint>
#include <string>
#include <vector>

namespace accum::runtime {

/// As text, the way a user writes it. Counts are optimizer steps, never micro-steps.
struct ScheduleOptions {
  std::string kind = "constant"; ///< constant, linear, cosine, inverse-sqrt, wsd, or the path of a file
  std::string warmup = {};       ///< `N` steps or `P%` of the run; empty: none
  std::string floor = {};        ///< a learning rate or `P%` of the peak; empty: 0
  std::string decaySteps = {};   ///< of wsd: `N` or `P%`; empty: 10%
};

/// Factors of the peak learning rate. With step s from 0 of S, w steps of warm-up and a floor f:
///
///     s < w           (s + 1) / w
///     constant        1
///     linear          f + (1 - f) * (1 - p)                 p = (s - w) / (S - 1 - w)
///     cosine          f + (1 - f) * (1 + cos(pi * p)) / 2
///     inverse-sqrt    max(f, sqrt(w / s)); without warm-up sqrt(10000 / (s + 10000))
///     wsd             1, then linear to f over the last steps
///
/// So a schedule is 1 at s = w and at its floor in the last step. A file has lines `step,factor`, in
/// ascending order; between them factors are linear, and constant outside.
class Schedule {
public:
  /// `steps`: of the run. `peak`: the learning rate that an absolute floor is compared with. Slugs `usage`
  /// (exit 2) and, of a file, `missing-file` and `malformed-schedule` (exit 3).
  static Expected<Schedule> make(const ScheduleOptions &options, uint64_t steps, double peak);

  double factor(uint64_t step) const;

private:
  struct Point {
    double step, factor;
  };
  enum class Kind : uint8_t { Constant, Linear, Cosine, InverseSqrt, Wsd, Points };

  static Expected<std::vector<Point>> readPoints(const std::string &path);
  double between(double step) const;

  Kind kind = Kind::Constant;
  uint64_t steps = 0, warmup = 0, decay = 0;
  double floor = 0;
  std::vector<Point> points;
};

} // namespace accum::runtime
#endif
