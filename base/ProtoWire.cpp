// SPDX-License-Identifier: Apache-2.0
// https://protobuf.dev/programming-guides/encoding
#include "base/ProtoWire.h"
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace accum {
namespace {

constexpr int kLongestVarint = 10;
constexpr uint64_t kLargestNumber = (1u << 29) - 1; ///< of a field

template <typename T> void appendBytes(std::string &to, uint32_t tag, T value) {
  appendVarint(to, tag);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof value);
  to.append(bytes, sizeof bytes);
}

} // namespace

std::nullopt_t ProtoFields::fail(std::string why) {
  what = std::move(why);
  return std::nullopt;
}

std::optional<uint64_t> ProtoFields::varint() {
  uint64_t value = 0;
  for (int i = 0; i < kLongestVarint && at < end; ++i) {
    uint8_t byte = file[at++];
    value |= uint64_t(byte & 0x7f) << (7 * i);
    if (byte < 0x80)
      return value;
  }
  return std::nullopt;
}

std::optional<ProtoField> ProtoFields::next() {
  if (at >= end || isBroken())
    return std::nullopt;
  ProtoField field;
  field.begin = at;
  auto tag = varint();
  uint64_t wire = tag.value_or(0) & 7;
  if (!tag || *tag >> 3 == 0 || *tag >> 3 > kLargestNumber || wire == 3 || wire == 4 || wire > 5)
    return fail(fmt::format("byte {} does not begin a field", field.begin));
  field.number = uint32_t(*tag >> 3);
  field.wire = uint32_t(wire);
  uint64_t bytes = wire == 1 ? 8 : wire == 5 ? 4 : 0;
  field.value = at;
  auto number = wire == 0 || wire == 2 ? varint() : 0;
  if (!number || (wire != 2 && bytes > end - at))
    return fail(fmt::format("the {} at byte {} does not end", wire == 2 ? "length" : "number", field.begin));
  field.varint = *number;
  if (wire == 2) {
    bytes = *number;
    field.value = at;
  }
  if (bytes > end - at) {
    cut = field.number;
    return fail(
        fmt::format("the field at byte {} claims {} bytes, {} are left", field.begin, bytes, end - at));
  }
  at += bytes;
  field.end = at;
  return field;
}

void appendVarint(std::string &to, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    to.push_back(char(value | 0x80));
  to.push_back(char(value));
}

void appendLengthTag(std::string &to, uint32_t number, uint64_t bytes) {
  appendVarint(to, uint64_t(number) << 3 | 2);
  appendVarint(to, bytes);
}

void appendField(std::string &to, uint32_t number, const std::string &value) {
  appendLengthTag(to, number, value.size());
  to += value;
}

void appendNumber(std::string &to, uint32_t number, uint64_t value) {
  appendVarint(to, uint64_t(number) << 3);
  appendVarint(to, value);
}

void appendDouble(std::string &to, uint32_t number, double value) { appendBytes(to, number << 3 | 1, value); }

void appendFloat(std::string &to, uint32_t number, float value) { appendBytes(to, number << 3 | 5, value); }

} // namespace accum
