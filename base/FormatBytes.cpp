// SPDX-License-Identifier: Apache-2.0
// Binary units, as memory is counted.
#include "base/FormatBytes.h"
#include <cmath>
#include <fmt/format.h>

namespace accum {

ByteUnit unitOf(int64_t bytes) {
  constexpr ByteUnit kUnits[] = {
      {"TiB", int64_t{1} << 40}, {"GiB", int64_t{1} << 30}, {"MiB", int64_t{1} << 20}};
  for (ByteUnit unit : kUnits)
    if (bytes >= unit.bytes)
      return unit;
  return {"KiB", int64_t{1} << 10};
}

std::string formatBytes(int64_t bytes) {
  if (bytes < 1024)
    return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  ByteUnit unit = unitOf(bytes);
  return fmt::format("{:.{}f} {}", unit.of(bytes), unit.of(bytes) >= 9.995 ? 1 : 2, unit.name);
}

std::string formatLimit(int64_t bytes) {
  ByteUnit unit = unitOf(bytes);
  return fmt::format("{:.2f}{}", std::floor(unit.of(bytes) * 100) / 100, unit.name);
}

} // namespace accum
