// SPDX-License-Identifier: Apache-2.0
// Processor time as a sign of life: a rank on a machine that is short of processors may take longer for one
// piece of work than the watchdog waits. It lives as long as it gets any time at all.
#ifndef ACCUM_RUNTIME_RANKS_CPUPROGRESS_H
#define ACCUM_RUNTIME_RANKS_CPUPROGRESS_H

#include <ctime>

namespace accum::runtime {

class CpuProgress {
public:
  /// Whether the process has used 20 ms more since this was last true, the calling thread's own not counted.
  /// That is a thousandth of the watchdog's usual 20 s: more than threads use that only wait.
  bool isMade() {
    double used = read(CLOCK_PROCESS_CPUTIME_ID) - read(CLOCK_THREAD_CPUTIME_ID);
    if (used - seen < kSeconds)
      return false;
    seen = used;
    return true;
  }

private:
  static constexpr double kSeconds = 0.02;
  static double read(clockid_t clock) {
    timespec time;
    clock_gettime(clock, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
  }
  double seen = 0;
};

} // namespace accum::runtime
#endif
