// SPDX-License-Identifier: Apache-2.0
// The arena is written to while its pages are still being asked for.
#include "runtime/host/Arena.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <vector>

using namespace accum::runtime;

namespace {

constexpr uint64_t kPage = 4096, kBytes = (100 << 20) + 3 * kPage; // some pieces, and a part of one

std::vector<unsigned char> presentPages(const Arena &arena) {
  std::vector<unsigned char> pages(arena.size() / kPage);
  EXPECT_EQ(mincore(arena.data(), arena.size(), pages.data()), 0);
  return pages;
}

} // namespace

TEST(Arena, KeepsWhatIsWrittenBeforeItsPagesAreThere) {
  auto arena = Arena::allocate(kBytes);
  ASSERT_TRUE(arena) << arena.error().message;
  uint8_t *bytes = arena->data();
  for (uint64_t page = 0; page < kBytes / kPage; ++page) // from the end, towards the thread
    bytes[kBytes - 1 - page * kPage] = uint8_t(1 + page % 255);
  arena->settle();
  for (uint64_t page = 0; page < kBytes / kPage; ++page)
    ASSERT_EQ(bytes[kBytes - 1 - page * kPage], uint8_t(1 + page % 255)) << page;
  EXPECT_EQ(std::count(bytes, bytes + kBytes, 0), int64_t(kBytes - kBytes / kPage));
}

TEST(Arena, EveryPageIsThereWhenItIsSettled) {
  auto arena = Arena::allocate(kBytes);
  ASSERT_TRUE(arena) << arena.error().message;
  arena->settle();
  arena->settle(); // at every step
  for (unsigned char page : presentPages(*arena))
    ASSERT_TRUE(page & 1);
}

TEST(Arena, EndsWhileItsPagesAreAskedFor) {
  for (int turn = 0; turn < 20; ++turn) {
    auto arena = Arena::allocate(kBytes);
    ASSERT_TRUE(arena) << arena.error().message;
    Arena moved = std::move(*arena);
    EXPECT_EQ(moved.size(), kBytes);
    EXPECT_EQ(arena->size(), 0u);
  }
}

TEST(Arena, IsRefusedWhereThereIsNoRoom) {
  auto arena = Arena::allocate(uint64_t(1) << 50);
  ASSERT_FALSE(arena);
  EXPECT_EQ(arena.error().slug, "out-of-memory");
}
