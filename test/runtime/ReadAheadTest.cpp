// SPDX-License-Identifier: Apache-2.0
// The next window's samples are in the system's cache before a step asks for them.
#include "runtime/data/Feed.h"
#include "test/runtime/ToyArtifact.h"
#include <chrono>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace accum::runtime;

namespace {

constexpr int64_t kLength = 1 << 20, kSamples = 24;

/// A file of tokens, a sample of 2 MiB each, none of it in the cache where the file system lets go of it.
class OnDisk : public testing::Test {
protected:
  OnDisk() {
    std::ofstream(path, std::ios::binary) << std::string(size_t(kSamples * kLength * 2), '\0');
    int descriptor = open(path.c_str(), O_RDONLY);
    fsync(descriptor);
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    mapped = mmap(nullptr, size_t(kSamples * kLength * 2), PROT_READ, MAP_SHARED, descriptor, 0);
    close(descriptor);
    InputSpec spec;
    spec.name = "input_ids";
    spec.dtype = ACCUM_I64;
    spec.shape = {1, kLength};
    spec.batchDim = 0;
    manifest.batch = manifest.m = 1;
    manifest.labels = "next-token";
    manifest.inputs = {spec};
    appendRuntimeInputs(manifest);
  }
  ~OnDisk() override {
    munmap(mapped, size_t(kSamples * kLength * 2));
    unlink(path.c_str());
  }

  /// The part of a sample's pages that the system has.
  double resident(int64_t sample) const {
    std::vector<unsigned char> pages(kLength * 2 / 4096);
    mincore(static_cast<char *>(mapped) + sample * kLength * 2, size_t(kLength * 2), pages.data());
    int64_t there = 0;
    for (unsigned char page : pages)
      there += page & 1;
    return double(there) / double(pages.size());
  }

  std::string path = accum::test::freshFolder("ahead") + "/tokens.bin";
  void *mapped = nullptr;
  Manifest manifest;
};

} // namespace

TEST_F(OnDisk, TheNextWindowIsBroughtAndNoOther) {
  if (resident(20) > 0)
    GTEST_SKIP() << "this file system keeps what it is told to forget";
  auto files = readData({path}, "u16");
  ASSERT_TRUE(files);
  auto data = Dataset::fromFiles(manifest, std::move(*files), {});
  ASSERT_TRUE(data);
  Feed feed(std::move(*data), {});
  feed.select({0, 0, 4});
  feed.prepare({0, 8, 8}, Share(8, 1, 2, 1)); // the second of two ranks: samples 12 to 15
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (resident(15) < 1 && std::chrono::steady_clock::now() < deadline)
    usleep(1000);
  for (int64_t sample : {12, 13, 14, 15})
    EXPECT_EQ(resident(sample), 1) << sample;
  for (int64_t sample : {2, 9, 22})
    EXPECT_EQ(resident(sample), 0) << sample;
}
