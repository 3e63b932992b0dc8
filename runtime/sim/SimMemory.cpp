// SPDX-License-Identifier: Apache-2.0
// The shadow of the arena.
#include "runtime/sim/SimMemory.h"
#include <algorithm>
#include <cstring>

namespace accum::runtime::sim {

void SimMemory::cover(const void *base, uint64_t bytes) {
  first = reinterpret_cast<uint64_t>(base);
  shadow.assign(bytes, 1);
}

std::pair<uint64_t, uint64_t> SimMemory::covered(const void *address, uint64_t bytes) const {
  uint64_t begin = reinterpret_cast<uint64_t>(address), end = begin + bytes, last = first + shadow.size();
  begin = std::clamp(begin, first, last) - first;
  return {begin, std::max(begin, std::clamp(end, first, last) - first)};
}

void SimMemory::mark(const void *address, uint64_t bytes, uint8_t value) {
  auto [begin, end] = covered(address, bytes);
  std::memset(shadow.data() + begin, value, end - begin);
}

uint64_t SimMemory::firstUnwritten(const void *address, uint64_t bytes) const {
  auto [begin, end] = covered(address, bytes);
  const void *found = std::memchr(shadow.data() + begin, 0, end - begin);
  if (!found)
    return bytes;
  uint64_t at = first + static_cast<uint64_t>(static_cast<const uint8_t *>(found) - shadow.data());
  return at - reinterpret_cast<uint64_t>(address);
}

void SimMemory::copied(const void *target, const void *source, uint64_t bytes) {
  wrote(target, bytes);
  for (uint64_t i = 0; i < bytes; ++i)
    if (!isWritten(static_cast<const uint8_t *>(source) + i, 1))
      forget(static_cast<const uint8_t *>(target) + i, 1);
}

} // namespace accum::runtime::sim
