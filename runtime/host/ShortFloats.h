// SPDX-License-Identifier: Apache-2.0
// Floats with fewer bits than f32, as the processors that compute in them round.
#ifndef ACCUM_RUNTIME_HOST_SHORTFLOATS_H
#define ACCUM_RUNTIME_HOST_SHORTFLOATS_H

#include <bit>
#include <cstdint>

namespace accum::runtime {

inline float fromBrain(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

/// Of IEEE's binary16; exact.
inline float fromHalf(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  uint32_t wide = magnitude >= 0x7c00  ? 0x7f800000 | magnitude << 13
                  : magnitude >= 0x400 ? (magnitude << 13) + (112u << 23)
                                       : std::bit_cast<uint32_t>(float(magnitude) * 0x1p-24f);
  return std::bit_cast<float>(sign | wide);
}

/// To nearest, ties to even, as `cvt.rn.bf16.f32` does; NaN stays NaN.
inline uint16_t toBrain(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return uint16_t(value == value ? rounded : bits >> 16 | 0x40);
}

/// f32 with 10 bits of mantissa: to nearest, ties away from zero, as `cvt.rna.tf32.f32` does.
inline float toTf32(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  bool finite = (bits & 0x7f800000) != 0x7f800000;
  return std::bit_cast<float>(finite ? (bits + 0x1000) & ~uint32_t(0x1fff) : bits);
}

} // namespace accum::runtime
#endif
