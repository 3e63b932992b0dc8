// SPDX-License-Identifier: Apache-2.0
// Sizes as text.
#include "base/FormatBytes.h"
#include <gtest/gtest.h>

namespace accum {

TEST(FormatBytes, HasThreeDigitsAtLeast) {
  EXPECT_EQ(formatBytes(1), "1 byte");
  EXPECT_EQ(formatBytes(900), "900 bytes");
  EXPECT_EQ(formatBytes(1024), "1.00 KiB");
  EXPECT_EQ(formatBytes(13 << 20), "13.0 MiB");
  EXPECT_EQ(formatBytes(int64_t{5} << 29), "2.50 GiB");
  EXPECT_EQ(formatBytes(27166562714), "25.3 GiB");
  EXPECT_EQ(formatBytes(int64_t{3} << 40), "3.00 TiB");
}

TEST(FormatBytes, RoundsBeforeItCountsDigits) { EXPECT_EQ(formatBytes(10'480'000), "9.99 MiB"); }

TEST(FormatBytes, LimitIsNeverMore) {
  EXPECT_EQ(formatLimit((int64_t{2} << 30) - 1), "1.99GiB"); // and not 2.00
  EXPECT_EQ(formatLimit(int64_t{61} << 28), "15.25GiB");
}

} // namespace accum
