// SPDX-License-Identifier: Apache-2.0
// Offloaded state in a file: against an array, in any order of begun and ended transfers; folders that cannot
// hold it.
#include "runtime/host/OffloadFile.h"
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <sys/resource.h>
#include <sys/stat.h>

namespace accum::runtime {
namespace {

std::string makeFolder() {
  std::string folder = ACCUM_TEST_FOLDER "/offload-XXXXXX";
  return mkdtemp(folder.data());
}

TEST(OffloadFile, IsAnArray) {
  constexpr uint64_t kBytes = 40 << 20, kUnit = kBytes / 4;
  auto file = OffloadFile::create(makeFolder(), kBytes);
  ASSERT_TRUE(file) << format(file.error());
  std::vector<uint8_t> whole(kBytes), piece(kUnit), other(kUnit);
  ASSERT_TRUE((*file)->read(kUnit, piece.data(), kUnit));
  EXPECT_EQ(piece, std::vector<uint8_t>(kUnit)) << "it begins as zeros";
  std::mt19937 draw(7);
  for (int turn = 0; turn < 20; ++turn) {
    uint64_t unit = draw() % 4 * kUnit, next = (unit + kUnit) % kBytes;
    std::iota(piece.begin(), piece.end(), uint8_t(draw()));
    std::copy(piece.begin(), piece.end(), whole.begin() + ptrdiff_t(unit));
    bool startsWrite = draw() % 2 == 0, startsRead = draw() % 2 == 0;
    if (startsWrite)
      (*file)->startWrite(unit, piece.data(), kUnit);
    if (startsRead)
      (*file)->startRead(next, other.data(), kUnit);
    if (draw() % 4 == 0) { // a step that is left in the middle
      (*file)->forget();
      startsWrite = false;
    }
    ASSERT_TRUE((*file)->write(unit, piece.data(), kUnit));
    ASSERT_TRUE((*file)->read(next, other.data(), kUnit));
    EXPECT_TRUE(std::equal(other.begin(), other.end(), whole.begin() + ptrdiff_t(next))) << turn;
  }
}

TEST(OffloadFile, LeavesNothing) {
  std::string folder = makeFolder();
  {
    ASSERT_TRUE(OffloadFile::create(folder, 1 << 20));
  }
  EXPECT_EQ(rmdir(folder.c_str()), 0) << "it is empty";
}

std::string refusal(const std::string &folder, uint64_t bytes) {
  auto file = OffloadFile::create(folder, bytes);
  return file ? "" : format(file.error());
}

TEST(OffloadFile, SaysWhyAFolderCannotHoldIt) {
  std::string folder = makeFolder();
  EXPECT_EQ(refusal(folder + "/none", 4096),
            "error: offloaded state: `" + folder +
                "/none` cannot be used: No such file or directory [file-unwritable]\n"
                "note: --offload-dir names another folder\n");
  EXPECT_EQ(refusal("/dev/shm", 4096),
            "error: offloaded state: `/dev/shm` lies in memory, of which offload is to take less [usage]\n"
            "note: --offload-dir names a folder on a disk\n");
  std::string full = refusal(folder, uint64_t(1) << 60);
  EXPECT_TRUE(full.starts_with("error: offloaded state: `" + folder + "` has room for ")) << full;
  EXPECT_NE(full.find(", not for 1048576.0 TiB [disk-full]"), std::string::npos) << full;
}

} // namespace
} // namespace accum::runtime
