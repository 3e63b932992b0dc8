// SPDX-License-Identifier: Apache-2.0
// Conversions go through memcpy: arrays in files need not be aligned.
#include "runtime/files/Convert.h"
#include "runtime/files/ShortFloats.h"
#include <cstring>

namespace accum::runtime {
namespace {

template <typename T> T load(const uint8_t *data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

template <uint16_t (*shorten)(float)>
void shortenTo(const uint8_t *from, DType fromType, uint8_t *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    uint16_t value = shorten(toOdd(asDouble(from, fromType, i)));
    std::memcpy(to + i * sizeof value, &value, sizeof value);
  }
}

} // namespace

bool canConvert(DType from, DType to) {
  bool isNarrower = bytesOf(from) < bytesOf(to) && isFloat(from) == isFloat(to);
  bool isWide = to == ACCUM_I32 || to == ACCUM_I64 || to == ACCUM_F32 || to == ACCUM_F64;
  return from == to || (isNarrower && isWide) || (from == ACCUM_F64 && to == ACCUM_F32) ||
         ((from == ACCUM_F32 || from == ACCUM_F16) && to == ACCUM_BF16);
}

bool areIntegers(DType from, DType to) { return !isFloat(from) && !isFloat(to); }

/// Weights of a model, by the billion.
template <float (*widen)(uint16_t)> static void widenTo(const uint8_t *from, uint8_t *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    float value = widen(load<uint16_t>(from, i));
    std::memcpy(to + i * sizeof value, &value, sizeof value);
  }
}

template <typename From, typename To>
static void convertPlain(const uint8_t *from, uint8_t *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    auto value = static_cast<To>(load<From>(from, i));
    std::memcpy(to + i * sizeof value, &value, sizeof value);
  }
}

/// The usual pairs of tokens and targets have a loop of their own.
template <typename To>
static void convertTo(const uint8_t *from, DType fromType, uint8_t *to, int64_t count) {
  switch (fromType) {
  case ACCUM_U16:
    return convertPlain<uint16_t, To>(from, to, count);
  case ACCUM_U32:
    return convertPlain<uint32_t, To>(from, to, count);
  case ACCUM_I32:
    return convertPlain<int32_t, To>(from, to, count);
  case ACCUM_I64:
    return convertPlain<int64_t, To>(from, to, count);
  default:
    break;
  }
  for (int64_t i = 0; i < count; ++i) {
    To value = std::is_integral_v<To> ? static_cast<To>(asInteger(from, fromType, i))
                                      : static_cast<To>(asDouble(from, fromType, i));
    std::memcpy(to + i * sizeof value, &value, sizeof value);
  }
}

void convert(const uint8_t *from, DType fromType, uint8_t *to, DType toType, int64_t count) {
  if (fromType == toType)
    std::memcpy(to, from, count * bytesOf(toType));
  else if (toType == ACCUM_BF16)
    shortenTo<toBf16>(from, fromType, to, count);
  else if (toType == ACCUM_F16)
    shortenTo<toHalf>(from, fromType, to, count);
  else if (toType == ACCUM_F32 && fromType == ACCUM_F16)
    widenTo<fromHalf>(from, to, count);
  else if (toType == ACCUM_F32 && fromType == ACCUM_BF16)
    widenTo<fromBf16>(from, to, count);
  else if (toType == ACCUM_I64)
    convertTo<int64_t>(from, fromType, to, count);
  else if (toType == ACCUM_I32)
    convertTo<int32_t>(from, fromType, to, count);
  else if (toType == ACCUM_I8)
    convertTo<int8_t>(from, fromType, to, count);
  else if (toType == ACCUM_U8 || toType == ACCUM_BOOL)
    convertTo<uint8_t>(from, fromType, to, count);
  else if (toType == ACCUM_F32)
    convertTo<float>(from, fromType, to, count);
  else
    convertTo<double>(from, fromType, to, count);
}

void storeFloat(uint8_t *data, DType dtype, int64_t index, double value) {
  auto single = static_cast<float>(value);
  const void *from = dtype == ACCUM_F64 ? static_cast<const void *>(&value) : &single;
  convert(static_cast<const uint8_t *>(from), dtype == ACCUM_F64 ? ACCUM_F64 : ACCUM_F32,
          data + index * bytesOf(dtype), dtype, 1);
}

double asDouble(const uint8_t *data, DType dtype, int64_t index) {
  switch (dtype) {
  case ACCUM_F64:
    return load<double>(data, index);
  case ACCUM_F32:
    return load<float>(data, index);
  case ACCUM_F16:
    return fromHalf(load<uint16_t>(data, index));
  case ACCUM_BF16:
    return fromBf16(load<uint16_t>(data, index));
  default:
    return static_cast<double>(asInteger(data, dtype, index));
  }
}

int64_t asInteger(const uint8_t *data, DType dtype, int64_t index) {
  switch (dtype) {
  case ACCUM_I64:
    return load<int64_t>(data, index);
  case ACCUM_I32:
    return load<int32_t>(data, index);
  case ACCUM_I8:
    return load<int8_t>(data, index);
  case ACCUM_I16:
    return load<int16_t>(data, index);
  case ACCUM_U16:
    return load<uint16_t>(data, index);
  case ACCUM_U32:
    return load<uint32_t>(data, index);
  case ACCUM_U64:
    return static_cast<int64_t>(load<uint64_t>(data, index));
  default:
    return data[index];
  }
}

} // namespace accum::runtime
