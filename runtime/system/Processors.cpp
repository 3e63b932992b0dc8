// SPDX-License-Identifier: Apache-2.0
// Affinity, and the control groups' cpu controller.
#include "runtime/system/Processors.h"
#include "runtime/system/ControlGroups.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sched.h>
#include <thread>

namespace accum::runtime {
namespace {

/// "50000 100000" of version 2, or "max 100000".
std::optional<double> quotaOfVersion2(const std::string &folder) {
  std::ifstream file(folder + "/cpu.max");
  double quota = 0, period = 0;
  if (file >> quota >> period && quota > 0 && period > 0)
    return quota / period;
  return std::nullopt;
}

/// Microseconds of version 1, in two files; -1 is none.
std::optional<double> quotaOfVersion1(const std::string &folder) {
  std::ifstream first(folder + "/cpu.cfs_quota_us"), second(folder + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (first >> quota && second >> period && quota > 0 && period > 0)
    return quota / period;
  return std::nullopt;
}

} // namespace

int machineProcessors() { return std::max(1, int(std::thread::hardware_concurrency())); }

int affineProcessors() {
  // Machines of more than 1,024 processors want a larger set than cpu_set_t.
  for (int size = 1024; size <= 1 << 16; size *= 2) {
    cpu_set_t *set = CPU_ALLOC(size);
    int found =
        sched_getaffinity(0, CPU_ALLOC_SIZE(size), set) == 0 ? CPU_COUNT_S(CPU_ALLOC_SIZE(size), set) : 0;
    CPU_FREE(set);
    if (found > 0)
      return found;
  }
  return machineProcessors();
}

std::optional<double> processorQuota(const std::string &root) {
  std::optional<double> least;
  forEachControlGroup("cpu", root, [&](const std::string &folder, bool isVersion2) {
    auto quota = isVersion2 ? quotaOfVersion2(folder) : quotaOfVersion1(folder);
    if (quota)
      least = std::min(*quota, least.value_or(*quota));
  });
  return least;
}

int usableProcessors(const std::string &root) {
  int processors = affineProcessors();
  if (auto quota = processorQuota(root); quota && *quota < processors)
    return std::max(1, int(std::ceil(*quota)));
  return processors;
}

std::optional<int> askedThreads() {
  const char *text = std::getenv("OMP_NUM_THREADS");
  long threads = text ? std::strtol(text, nullptr, 10) : 0; // of a list by nesting the first
  if (threads <= 0 || threads > 1 << 20)
    return std::nullopt;
  return int(threads);
}

int defaultThreads() {
  auto asked = askedThreads();
  return asked ? *asked : usableProcessors();
}

uint64_t timesThrottled(const std::string &root) {
  uint64_t most = 0;
  forEachControlGroup("cpu", root, [&](const std::string &folder, bool) {
    std::ifstream file(folder + "/cpu.stat");
    uint64_t number = 0;
    for (std::string key; file >> key >> number;)
      if (key == "nr_throttled")
        most = std::max(most, number);
  });
  return most;
}

} // namespace accum::runtime
