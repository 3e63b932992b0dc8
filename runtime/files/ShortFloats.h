// SPDX-License-Identifier: Apache-2.0
// Floats with fewer bits than f32, as the processors that compute in them round.
#ifndef ACCUM_RUNTIME_FILES_SHORTFLOATS_H
#define ACCUM_RUNTIME_FILES_SHORTFLOATS_H

#include <bit>
#include <cstdint>

namespace accum::runtime {

inline float fromBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

/// Of IEEE's binary16; exact.
inline float fromHalf(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  uint32_t wide = magnitude >= 0x7c00  ? 0x7f800000 | magnitude << 13
                  : magnitude >= 0x400 ? (magnitude << 13) + (112u << 23)
                                       : std::bit_cast<uint32_t>(float(magnitude) * 0x1p-24f);
  return std::bit_cast<float>(sign | wide);
}

/// To nearest, ties to even, as `cvt.rn.bf16.f32` does; NaN stays NaN.
inline uint16_t toBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return uint16_t(value == value ? rounded : bits >> 16 | 0x40);
}

/// To nearest, ties to even, subnormal numbers too; NaN stays NaN.
inline uint16_t toHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return uint16_t(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x47800000) // 65536
    return uint16_t(sign | 0x7c00);
  if (magnitude < 0x38800000) { // 2^-14: the sum has the value in its last bits, rounded
    float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  return uint16_t(sign | (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13);
}

/// Cut to f32, the last bit set where something was cut off: rounding that to a shorter float is then as
/// rounding `value` itself, once.
inline float toOdd(double value) {
  auto nearest = float(value);
  if (double(nearest) == value || value != value)
    return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  bool isTooLarge = (value < 0 ? -double(nearest) : double(nearest)) > (value < 0 ? -value : value);
  return std::bit_cast<float>((bits - (isTooLarge ? 1 : 0)) | 1);
}

/// f32 with 10 bits of mantissa: to nearest, ties away from zero, as `cvt.rna.tf32.f32` does.
inline float toTf32(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  bool finite = (bits & 0x7f800000) != 0x7f800000;
  return std::bit_cast<float>(finite ? (bits + 0x1000) & ~uint32_t(0x1fff) : bits);
}

} // namespace accum::runtime
#endif
