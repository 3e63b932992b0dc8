// SPDX-License-Identifier: Apache-2.0
// Fields of protobuf messages. The bytes are those of the encoding's documentation, and damaged ones.
#include "base/ProtoWire.h"
#include <gtest/gtest.h>

namespace accum {
namespace {

/// Reads to the end.
std::string problemOf(const std::string &bytes, uint32_t *cutOff = nullptr) {
  ProtoFields fields(reinterpret_cast<const uint8_t *>(bytes.data()), 0, bytes.size());
  while (fields.next()) {
  }
  if (cutOff)
    *cutOff = fields.cutOff();
  return fields.problem();
}

} // namespace

TEST(ProtoWire, ReadsWhatIsWritten) {
  std::string bytes;
  appendNumber(bytes, 1, 150);
  appendField(bytes, 2, "testing");
  appendDouble(bytes, 3, 1);
  appendFloat(bytes, 4, 1);
  EXPECT_EQ(bytes.substr(0, 12), "\x08\x96\x01\x12\x07testing");
  ProtoFields fields(reinterpret_cast<const uint8_t *>(bytes.data()), 0, bytes.size());
  auto number = fields.next(), text = fields.next(), wide = fields.next(), narrow = fields.next();
  ASSERT_TRUE(number && text && wide && narrow);
  EXPECT_EQ(number->varint, 150u);
  EXPECT_EQ(bytes.substr(text->value, text->end - text->value), "testing");
  EXPECT_EQ(text->begin, 3u);
  EXPECT_EQ(wide->end - wide->value, 8u);
  EXPECT_EQ(narrow->end - narrow->value, 4u);
  EXPECT_EQ(narrow->number, 4u);
  EXPECT_FALSE(fields.next());
  EXPECT_FALSE(fields.isBroken());
}

TEST(ProtoWire, SaysWhatIsBroken) {
  EXPECT_EQ(problemOf(std::string(1, '\0')), "byte 0 does not begin a field");       // number 0
  EXPECT_EQ(problemOf("\x08\x01\x0b"), "byte 2 does not begin a field");             // a group
  EXPECT_EQ(problemOf("\x0e"), "byte 0 does not begin a field");                     // no such wire type
  EXPECT_EQ(problemOf("\x80\x80\x80\x80\x10\x01"), "byte 0 does not begin a field"); // number 2^29
  EXPECT_EQ(problemOf("\x08\x96"), "the number at byte 0 does not end");
  EXPECT_EQ(problemOf("\x0d\x01\x02"), "the number at byte 0 does not end");
  EXPECT_EQ(problemOf("\x12\xff"), "the length at byte 0 does not end");
  uint32_t cutOff = 0;
  EXPECT_EQ(problemOf("\x12\x07test", &cutOff), "the field at byte 0 claims 7 bytes, 4 are left");
  EXPECT_EQ(cutOff, 2u);
}

} // namespace accum
