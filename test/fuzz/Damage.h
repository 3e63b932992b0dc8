// SPDX-License-Identifier: Apache-2.0
// Seeded damage to a file's bytes.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

namespace accum::import::test {

/// Cuts, repeats, overwrites and flips; a few places at a time. The first three of `kinds` change the length,
/// which nearly always ends the reading: with more kinds, more damage gets past the wire format.
inline std::vector<uint8_t> damaged(std::vector<uint8_t> bytes, std::mt19937 &random, size_t kinds = 6) {
  auto below = [&](size_t bound) { return std::uniform_int_distribution<size_t>(0, bound - 1)(random); };
  for (size_t count = 1 + below(8); count > 0 && bytes.size() > 16; --count) {
    size_t at = below(bytes.size() - 16);
    auto position = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(kinds)) {
    case 0:
      bytes.resize(at);
      break;
    case 1:
      bytes.erase(position, position + static_cast<std::ptrdiff_t>(1 + below(15)));
      break;
    case 2:
      bytes.insert(position, {0xff, 0xff, 0xff, 0xff, 0x0f});
      break;
    case 3:
      bytes[at] = static_cast<uint8_t>(below(256));
      break;
    default:
      bytes[at] = static_cast<uint8_t>(bytes[at] ^ (1u << below(8)));
      break;
    }
  }
  return bytes;
}

} // namespace accum::import::test
