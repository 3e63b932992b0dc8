// SPDX-License-Identifier: Apache-2.0
// Checksums against published values.
#include "tools/accum-run/records/EventFile.h"
#include <gtest/gtest.h>

using namespace accum::run;

TEST(EventFile, ChecksumsAreThoseOfRfc3720) {
  std::string ascending, descending;
  for (int i = 0; i < 32; ++i) {
    ascending.push_back(char(i));
    descending.push_back(char(31 - i));
  }
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c(ascending), 0x46dd794eU);
  EXPECT_EQ(crc32c(descending), 0x113fdb5cU);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
}

TEST(EventFile, AFrameIsLengthBytesAndTheirMaskedChecksums) {
  std::string record = framed("123456789");
  ASSERT_EQ(record.size(), 8 + 4 + 9 + 4U);
  EXPECT_EQ(record.substr(0, 8), std::string("\x09\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(record.substr(12, 9), "123456789");
  // 0xe3069283 turned right by 15, plus 0xa282ead8, as little endian bytes.
  EXPECT_EQ(record.substr(21), std::string("\xe5\xb0\x8a\xc7", 4));
}
