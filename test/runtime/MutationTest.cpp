// SPDX-License-Identifier: Apache-2.0
// The body of a fuzzer, seeded: readers of files that people hand around neither crash nor accept nonsense
// quietly.
#include "runtime/artifact/Manifest.h"
#include "runtime/files/Array.h"
#include "test/runtime/ToyArtifact.h"
#include <fstream>
#include <gtest/gtest.h>
#include <random>

using namespace accum::runtime;
using namespace accum::test;

namespace {

/// One to four bytes overwritten, removed or inserted.
std::string mutate(std::string text, std::mt19937 &random) {
  for (unsigned edits = 1 + random() % 4; edits > 0 && !text.empty(); --edits) {
    size_t at = random() % text.size();
    switch (random() % 3) {
    case 0:
      text[at] = char(random());
      break;
    case 1:
      text.erase(at, 1 + random() % 8);
      break;
    default:
      text.insert(at, 1, "0123456789-[]{},\"\\e"[random() % 19]);
    }
  }
  return text;
}

/// Touches every byte that the arrays claim to hold.
int64_t sumOf(const std::vector<Array> &arrays) {
  int64_t sum = 0;
  for (const Array &array : arrays)
    for (uint64_t i = 0; i < array.bytes(); ++i)
      sum += array.data[i];
  return sum;
}

} // namespace

TEST(Mutation, Manifests) {
  std::string artifact = writeToyArtifact(freshFolder("mutation"), {});
  std::string text = *readText(artifact + "/manifest.json", 1 << 20);
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    auto manifest = parseManifest(mutate(text, random), "m");
    if (manifest)
      EXPECT_EQ(toJson(*manifest), text) << "nothing but white space may differ";
    else
      EXPECT_EQ(manifest.error().exitCode, 3);
  }
}

TEST(Mutation, Arrays) {
  std::string folder = freshFolder("mutation");
  std::string text = *readText(writeToyData(folder, makeToyData(6)), 1 << 20),
              path = folder + "/x.safetensors";
  std::mt19937 random(2);
  for (int i = 0; i < 1000; ++i) {
    std::ofstream(path, std::ios::binary) << mutate(text, random);
    if (auto arrays = readSafetensors(path))
      EXPECT_GE(sumOf(*arrays), 0);
  }
}

TEST(Mutation, NpyHeaders) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
  std::string text =
      std::string("\x93NUMPY\x01\x00", 8) + char(header.size()) + char(0) + header + std::string(24, 1);
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string mutated = mutate(text, random);
    auto array = parseNpy(reinterpret_cast<const uint8_t *>(mutated.data()), mutated.size(), "x", "x.npy");
    if (array)
      EXPECT_GE(sumOf({*array}), 0);
  }
}
