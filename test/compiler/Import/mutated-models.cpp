// SPDX-License-Identifier: Apache-2.0
// Real files with damage in them are read or refused; nothing crashes, nothing hangs.
#include "test/fuzz/ImportModel.h"
#include <chrono>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <random>
#include <vector>

using namespace accum::import::test;
using Clock = std::chrono::steady_clock;

namespace {
std::vector<uint8_t> contentOf(const std::string &name) {
  std::ifstream file(std::filesystem::path(ACCUM_SOURCE_DIR) / "test/models" / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Cuts, repeats, overwrites and flips; a few places at a time.
std::vector<uint8_t> damaged(std::vector<uint8_t> bytes, std::mt19937 &random) {
  auto below = [&](size_t bound) { return std::uniform_int_distribution<size_t>(0, bound - 1)(random); };
  for (size_t count = 1 + below(8); count > 0 && bytes.size() > 16; --count) {
    size_t at = below(bytes.size() - 16);
    auto position = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(6)) {
    case 0:
      bytes.resize(at);
      break;
    case 1:
      bytes.erase(position, position + static_cast<std::ptrdiff_t>(1 + below(15)));
      break;
    case 2:
      bytes.insert(position, {0xff, 0xff, 0xff, 0xff, 0x0f});
      break;
    default:
      bytes[at] = static_cast<uint8_t>(below(256));
      break;
    }
  }
  return bytes;
}

class MutatedModels : public ::testing::TestWithParam<const char *> {};

TEST_P(MutatedModels, areReadOrRefused) {
  std::vector<uint8_t> whole = contentOf(GetParam());
  ASSERT_TRUE(importBytes(whole));
  std::mt19937 random(20260101);
  int accepted = 0;
  constexpr int rounds = 400;
  for (int round = 0; round < rounds; ++round) {
    auto start = Clock::now();
    accepted += importBytes(damaged(whole, random));
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(5)) << "round " << round;
  }
  EXPECT_GT(accepted, 0) << "the damage never got past the wire format";
  EXPECT_LT(accepted, rounds) << "the damage was never noticed";
}

INSTANTIATE_TEST_SUITE_P(Files, MutatedModels,
                         ::testing::Values("gpt2-dynamo.onnx", "gpt2-torchscript-fresh.onnx",
                                           "llama-torch26.onnx",
                                           "adversarial/05-softmax-over-batch-reject.onnx"));
} // namespace
