// SPDX-License-Identifier: Apache-2.0
// How much memory this machine can give to a run.
#include "compiler/Driver/HostMemory.h"
#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace accum::driver {

static int64_t memAvailable() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  int64_t kibibytes = 0;
  for (std::string rest; file >> key >> kibibytes; std::getline(file, rest))
    if (key == "MemAvailable:")
      return kibibytes * 1024;
  return 0;
}

/// A number in a file; the largest one where it says "max" or cannot be read.
static int64_t numberIn(const std::string &path) {
  std::ifstream file(path);
  int64_t number = 0;
  return file >> number ? number : std::numeric_limits<int64_t>::max();
}

/// The path of the process's group in the unified hierarchy: the line "0::/path".
static std::string controlGroup() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("0::", 0) == 0)
      return "/sys/fs/cgroup" + line.substr(3);
  return "/sys/fs/cgroup";
}

int64_t availableHostMemory() {
  int64_t available = memAvailable();
  std::string group = controlGroup();
  int64_t limit = numberIn(group + "/memory.max"), used = numberIn(group + "/memory.current");
  if (limit == std::numeric_limits<int64_t>::max() || used > limit)
    return available;
  return std::min(available, limit - used);
}

} // namespace accum::driver
