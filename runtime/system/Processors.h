// SPDX-License-Identifier: Apache-2.0
// How many processors this process may use.
#ifndef ACCUM_RUNTIME_SYSTEM_PROCESSORS_H
#define ACCUM_RUNTIME_SYSTEM_PROCESSORS_H

#include <cstdint>
#include <optional>
#include <string>

namespace accum::runtime {

/// All that are switched on.
int machineProcessors();

/// Processors by affinity (sched_setaffinity, taskset).
int affineProcessors();

/// The smallest quota of the process's control groups (version 1 or 2) and of those around them, in
/// processors, such as 0.5; nothing where there is none. `root` stands before /proc and /sys.
std::optional<double> processorQuota(const std::string &root = "");

/// Both together: a quota is rounded up, as two threads that are stopped after three quarters of the time do
/// more than one. At least 1.
int usableProcessors(const std::string &root = "");

/// The first number of OMP_NUM_THREADS, where there is a positive one.
std::optional<int> askedThreads();

/// As many threads as are asked for, or else as there are usable processors.
int defaultThreads();

/// Times that the process's group was stopped since its quota was used up: nr_throttled of cpu.stat. 0 where
/// it cannot be read.
uint64_t timesThrottled(const std::string &root = "");

} // namespace accum::runtime
#endif
