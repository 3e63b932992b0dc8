// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/Pace.h"
#include <ctime>
#include <fmt/format.h>
#include <sys/resource.h>

namespace accum::runtime {
namespace {

/// An idle machine interrupts a thread a few times a second, a scheduler that shares a core a hundred times.
constexpr double kSharedCore = 20;

std::string reasonOf(const StepPace &step) {
  if (step.isThrottled)
    return fmt::format("the process is stopped whenever the quota of its control group is used up{}",
                       step.quota ? fmt::format(" ({:.2g} processors)", *step.quota) : "");
  if (double(step.use.interruptions) > kSharedCore * step.seconds)
    return fmt::format("other programs use the same processors: {} ran {:.0f} % of the time, interrupted "
                       "{:.0f} times a second",
                       step.threads == 1 ? "its thread" : fmt::format("its {} threads", step.threads),
                       100 * step.use.seconds / (step.seconds * step.threads),
                       double(step.use.interruptions) / step.seconds);
  if (step.threads < step.processors)
    return fmt::format("{} of {} usable processors {} used (--threads, OMP_NUM_THREADS)", step.threads,
                       step.processors, step.threads == 1 ? "is" : "are");
  return fmt::format("{}the plan counts on a faster machine; accum-calibrate measures this one",
                     step.ranks > 1 ? "another process of the run is slow, or the way to it, or " : "");
}

} // namespace

ProcessorUse ProcessorUse::read() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return {double(time.tv_sec) + 1e-9 * double(time.tv_nsec), usage.ru_nivcsw};
}

bool Pace::isDue(double seconds, double predicted) {
  bool isFar = predicted > 0 && seconds > kFar * predicted && seconds - predicted > kShort;
  slow = isFar ? slow + 1 : 0;
  if (isSaid || slow < kInARow)
    return false;
  isSaid = true;
  return true;
}

std::string describe(const StepPace &step) {
  return fmt::format("steps take {:.0f} ms, planned were {:.0f}: {}", 1e3 * step.seconds,
                     1e3 * step.predicted, reasonOf(step));
}

} // namespace accum::runtime
