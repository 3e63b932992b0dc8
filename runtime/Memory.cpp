// SPDX-License-Identifier: Apache-2.0
// Reads /proc and the control group (version 2).
#include "runtime/Memory.h"
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sys/resource.h>

namespace accum::runtime {
namespace {

std::optional<uint64_t> readNumber(const std::string &path) {
  std::ifstream file(path);
  uint64_t number;
  if (file >> number)
    return number;
  return std::nullopt; // no file, or "max"
}

uint64_t machineAvailable() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  uint64_t kibibytes;
  while (file >> key >> kibibytes) {
    if (key == "MemAvailable:")
      return kibibytes << 10;
    std::getline(file, unit);
  }
  return UINT64_MAX;
}

} // namespace

uint64_t availableMemory() {
  uint64_t available = machineAvailable();
  auto limit = readNumber("/sys/fs/cgroup/memory.max");
  auto used = readNumber("/sys/fs/cgroup/memory.current");
  if (limit && used)
    available = std::min(available, *limit - std::min(*limit, *used));
  return available;
}

uint64_t peakResident() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return uint64_t(usage.ru_maxrss) << 10;
}

std::string formatBytes(uint64_t bytes) {
  constexpr const char *kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024)
    return std::to_string(bytes) + " B";
  double value = double(bytes) / 1024;
  int unit = 0;
  for (; value >= 1024 && unit < 3; ++unit)
    value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit >= 2 ? "%.2f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

} // namespace accum::runtime
