// SPDX-License-Identifier: Apache-2.0
// Reads /proc and the control groups' memory controller.
#include "runtime/system/Memory.h"
#include "runtime/system/ControlGroups.h"
#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <sys/resource.h>
#include <vector>

namespace accum::runtime {
namespace {

std::optional<uint64_t> readNumber(const std::string &path) {
  std::ifstream file(path);
  uint64_t number;
  if (file >> number)
    return number;
  return std::nullopt; // no file, or "max"
}

/// The number behind a word that begins a line.
std::optional<uint64_t> numberOf(const std::string &word, const std::string &path) {
  std::ifstream file(path);
  for (std::string line, key; std::getline(file, line);) {
    std::istringstream words(line);
    if (uint64_t number; words >> key >> number && key == word)
      return number;
  }
  return std::nullopt;
}

/// The files of one version. Pages of files that were not read lately count as used, but are given up first.
struct Version {
  std::vector<const char *> limits;
  const char *used, *dropped;
};
const Version kVersion1 = {{"memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_inactive_file"};
const Version kVersion2 = {{"memory.max", "memory.high"}, "memory.current", "inactive_file"};

uint64_t leftIn(const std::string &group, const Version &version) {
  uint64_t left = UINT64_MAX;
  auto used = readNumber(group + "/" + version.used);
  for (const char *name : version.limits)
    if (auto limit = readNumber(group + "/" + name); limit && used) {
      uint64_t kept = *used - std::min(*used, numberOf(version.dropped, group + "/memory.stat").value_or(0));
      left = std::min(left, *limit - std::min(*limit, kept));
    }
  return left;
}

uint64_t machineAvailable() {
  auto kibibytes = numberOf("MemAvailable:", "/proc/meminfo");
  return kibibytes ? *kibibytes << 10 : UINT64_MAX;
}

} // namespace

uint64_t leftInControlGroups(const std::string &root) {
  uint64_t left = UINT64_MAX;
  forEachControlGroup("memory", root, [&](const std::string &folder, bool isVersion2) {
    left = std::min(left, leftIn(folder, isVersion2 ? kVersion2 : kVersion1));
  });
  return left;
}

uint64_t availableMemory() { return std::min(machineAvailable(), leftInControlGroups()); }

/// The cheap count, of every step, has in it what the process was before it became this program: while that
/// is the most, the file is read, which takes some 20 microseconds.
uint64_t peakResident() {
  auto counted = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return uint64_t(usage.ru_maxrss) << 10;
  };
  auto listed = [] { return numberOf("VmHWM:", "/proc/self/status").value_or(0) << 10; };
  static const uint64_t kBefore = [&] { return counted() > listed() ? counted() : 0; }();
  uint64_t most = counted();
  uint64_t own = most > kBefore ? most : listed();
  return own > 0 ? own : most; // without /proc
}

} // namespace accum::runtime
