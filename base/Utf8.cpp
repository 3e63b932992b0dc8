// SPDX-License-Identifier: Apache-2.0
// UTF-8 by the table of RFC 3629, section 4.
#include "base/Utf8.h"
#include <cstdint>

namespace accum {
namespace {
struct Lead {
  int continuations; ///< -1: no lead byte
  uint8_t low, high; ///< what the first continuation may be
};

Lead lead(uint8_t byte) {
  if (byte < 0x80)
    return {0, 0, 0};
  if (byte < 0xc2 || byte > 0xf4)
    return {-1, 0, 0};
  if (byte < 0xe0)
    return {1, 0x80, 0xbf};
  if (byte < 0xf0)
    return {2, uint8_t(byte == 0xe0 ? 0xa0 : 0x80), uint8_t(byte == 0xed ? 0x9f : 0xbf)};
  return {3, uint8_t(byte == 0xf0 ? 0x90 : 0x80), uint8_t(byte == 0xf4 ? 0x8f : 0xbf)};
}
} // namespace

bool isUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    Lead l = lead(static_cast<uint8_t>(text[i]));
    if (l.continuations < 0 || text.size() - i <= static_cast<size_t>(l.continuations))
      return false;
    for (int k = 1; k <= l.continuations; ++k) {
      auto byte = static_cast<uint8_t>(text[i + static_cast<size_t>(k)]);
      if (byte < (k == 1 ? l.low : 0x80) || byte > (k == 1 ? l.high : 0xbf))
        return false;
    }
    i += static_cast<size_t>(l.continuations) + 1;
  }
  return true;
}

} // namespace accum
