// SPDX-License-Identifier: Apache-2.0
// The threads of a run, and what slows its steps.
#include "runtime/session/PaceWatch.h"
#include "runtime/session/Describe.h"
#include "runtime/system/ThreadPool.h"
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

namespace accum::runtime {

/// As many as are asked for, by the options or by OMP_NUM_THREADS; otherwise the usable processors, shared
/// with the other ranks on this machine.
void PaceWatch::chooseThreads(int asked) {
  int usable = std::max(1, usableProcessors() / opened.ranks->localRanks());
  if (int processors = machineProcessors(); asked > processors)
    opened.note(std::to_string(asked) + " threads on " + std::to_string(processors) +
                " processors: what each of them packs takes memory that the plan does not count");
  auto set = askedThreads();
  // Who sets it himself knows it; torchrun does it for everybody.
  if (asked <= 0 && set && *set < usable && std::getenv("TORCHELASTIC_RUN_ID"))
    opened.note(fmt::format("{} of {} processors {} used, as OMP_NUM_THREADS says, which torchrun "
                            "sets to 1: --threads overrides it",
                            *set, usable, *set == 1 ? "is" : "are"));
  setThreads(asked > 0 ? asked : set.value_or(usable));
  throttledBefore = timesThrottled();
}

/// Seconds for a step of as many micro-steps as the latest; 0 where no plan says it.
double PaceWatch::plannedSeconds(const Division &division) {
  const std::vector<LengthSpec> &lengths = opened.artifact.manifest.lengths;
  if (!lengths.empty()) {
    double seconds = 0;
    for (size_t length = 0; length < lengths.size(); ++length)
      seconds += division.microSteps[length] * lengths[length].seconds;
    return seconds;
  }
  if (!plannedStep)
    plannedStep = predictedSeconds(opened.artifact);
  return *plannedStep * double(division.steps) / double(plannedMicroSteps);
}

/// The first steps fill caches. What a device of its own takes is not this machine's.
void PaceWatch::judge(double seconds, uint64_t updates, const Division &division) {
  constexpr uint64_t kSettled = 3;
  if (updates <= kSettled || opened.device->name() != "host")
    return;
  double predicted = seconds > Pace::kShort ? plannedSeconds(division) : 0;
  if (!pace.isDue(seconds, predicted))
    return;
  StepPace step = {seconds, predicted, ProcessorUse::read().since(useBefore), threadCount()};
  step.processors = std::max(1, usableProcessors() / opened.ranks->localRanks());
  step.ranks = opened.ranks->ranks();
  step.isThrottled = timesThrottled() > throttledBefore;
  step.quota = processorQuota();
  opened.note(runtime::describe(step));
}

} // namespace accum::runtime
