// SPDX-License-Identifier: Apache-2.0
// Text for terminals, and what is text at all.
#include "base/Printable.h"
#include "base/Utf8.h"
#include <gtest/gtest.h>

namespace accum {

TEST(Utf8, IsThatOfRfc3629) {
  for (const char *text : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(isUtf8(text)) << text;
  for (const char *text :
       {"\x80", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"})
    EXPECT_FALSE(isUtf8(text)) << text;
}

TEST(Printable, EscapesWhatTerminalsObey) {
  EXPECT_EQ(printable("a\x1b[2Jb\x7f"), "a\\x1b[2Jb\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(printable("caf\xc3\xa9\xff"), "caf\\xc3\\xa9\\xff"); // no UTF-8: every byte outside of ASCII
}

TEST(Printable, KeepsLines) {
  EXPECT_EQ(printableLines("a\tb\n\xff\n"), "a\\x09b\n\\xff\n");
  EXPECT_EQ(printableLines("a"), "a");
  EXPECT_EQ(printableLines(""), "");
}

} // namespace accum
