// SPDX-License-Identifier: Apache-2.0
// https://protobuf.dev/programming-guides/encoding
#include "runtime/files/ProtoWire.h"
#include <cstring>

namespace accum::runtime {
namespace {

constexpr int kLongestVarint = 10;

template <typename T> void appendBytes(std::string &to, uint32_t tag, T value) {
  appendVarint(to, tag);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof value);
  to.append(bytes, sizeof bytes);
}

} // namespace

std::optional<uint64_t> ProtoFields::varint() {
  uint64_t value = 0;
  for (int i = 0; i < kLongestVarint && at < end; ++i) {
    uint8_t byte = file[at++];
    value |= uint64_t(byte & 0x7f) << (7 * i);
    if (byte < 0x80)
      return value;
  }
  broken = true;
  return std::nullopt;
}

std::optional<ProtoField> ProtoFields::next() {
  if (at >= end || broken)
    return std::nullopt;
  ProtoField field;
  field.begin = at;
  auto tag = varint();
  if (!tag)
    return std::nullopt;
  field.number = uint32_t(*tag >> 3);
  field.wire = uint32_t(*tag & 7);
  uint64_t bytes = field.wire == 1 ? 8 : 4;
  field.value = at;
  if (field.wire == 0 || field.wire == 2) {
    auto number = varint();
    if (!number)
      return std::nullopt;
    field.varint = *number;
    bytes = field.wire == 2 ? *number : 0;
    field.value = field.wire == 2 ? at : field.value;
  }
  broken = field.number == 0 || field.wire == 3 || field.wire == 4 || field.wire > 5 || bytes > end - at;
  if (broken)
    return std::nullopt;
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

} // namespace accum::runtime
