// SPDX-License-Identifier: Apache-2.0
// Rounded to what fits into a line.
#include "tools/accum-run/records/Quantity.h"
#include <cstdint>
#include <fmt/format.h>

namespace accum::run {

std::string withPrefix(double value) {
  constexpr const char *kPrefixes[] = {"", "k", "M", "G", "T"};
  int prefix = 0;
  for (; value >= 1000 && prefix < 4; ++prefix)
    value /= 1000;
  return fmt::format("{:.3g}{}", value, kPrefixes[prefix]);
}

std::string duration(double seconds) {
  auto whole = int64_t(seconds);
  if (whole < 60)
    return fmt::format("{}s", whole);
  if (whole < 3600)
    return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

} // namespace accum::run
