// SPDX-License-Identifier: Apache-2.0
// Numbers that look random, for fingerprints and ties.
#pragma once
#include <cstdint>

namespace accum::planner {

/// splitmix64's finaliser.
inline uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

} // namespace accum::planner
