// SPDX-License-Identifier: Apache-2.0
// The learning rate of each optimizer step: warm-up, then a schedule down to a floor.
#ifndef ACCUM_RUNTIME_OPTIONS_SCHEDULE_H
#define ACCUM_RUNTIME_OPTIONS_SCHEDULE_H

#include "runtime/options/RunOptions.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace accum::runtime {

/// Where a step is, after the warm-up. All counts are steps.
struct SchedulePoint {
  double step;   ///< s, from 0
  double last;   ///< S - 1
  double warmup; ///< w
  double part;   ///< (s - w) / (S - 1 - w): 0 at the end of the warm-up, 1 in the last step
  double floor;  ///< f, as a factor
  double decay;  ///< steps of the final decay
  /// From 1 at `height` 1 to the floor at `height` 0.
  double between(double height) const { return floor + (1 - floor) * height; }
};

/// One schedule: all that is known of it by name.
struct ScheduleRow {
  const char *name;
  bool falls;    ///< to a floor
  bool ends;     ///< depends on the number of steps of the run
  bool hasDecay; ///< has a final decay of a length of its own
  double (*factor)(const SchedulePoint &);
};
std::span<const ScheduleRow> scheduleRows();
/// Null for the path of a file.
const ScheduleRow *findSchedule(const std::string &name);
/// `constant, linear, ..., or a file of lines `step,factor``.
std::string scheduleChoices();

/// Factors of the peak learning rate: (s + 1) / w in a warm-up of w steps, then the row's formula. A schedule
/// is 1 at s = w and at its floor in the last step. A file has lines `step,factor`, in ascending order;
/// between them factors are linear, and constant outside.
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

  static Expected<std::vector<Point>> readPoints(const std::string &path);
  double between(double step) const;

  const ScheduleRow *row = nullptr; ///< null: by points, or 1 where there are none
  uint64_t steps = 0, warmup = 0, decay = 0;
  double floor = 0;
  std::vector<Point> points;
};

} // namespace accum::runtime
#endif
