// SPDX-License-Identifier: Apache-2.0
// Refused by name, never silently ignored.
#include "tools/accum-run/NotBuilt.h"
#include <algorithm>

namespace accum::run {
namespace {

constexpr const char *kNotBuilt[] = {"--tensorboard"};

} // namespace

runtime::Status refuseNotBuilt(const std::vector<std::string> &words) {
  for (const std::string &word : words) {
    std::string name = word.substr(0, word.find('='));
    if (std::find(std::begin(kNotBuilt), std::end(kNotBuilt), name) != std::end(kNotBuilt))
      return runtime::Error{runtime::kExitUsage, name + " is not built yet in this version", "not-built"};
  }
  return {};
}

} // namespace accum::run
