// SPDX-License-Identifier: Apache-2.0
// Real files with damage in them are read or refused; nothing crashes, nothing hangs.
#include "test/fuzz/Damage.h"
#include "test/fuzz/ImportModel.h"
#include <ctime>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <random>
#include <vector>

using namespace accum::import::test;

namespace {
/// CPU seconds: how long it takes says something of the machine's other guests too.
double secondsUsed() { return double(std::clock()) / CLOCKS_PER_SEC; }

std::vector<uint8_t> contentOf(const std::string &name) {
  std::ifstream file(std::filesystem::path(ACCUM_SOURCE_DIR) / "test/models" / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class MutatedModels : public ::testing::TestWithParam<const char *> {};

TEST_P(MutatedModels, areReadOrRefused) {
  std::vector<uint8_t> whole = contentOf(GetParam());
  ASSERT_TRUE(importBytes(whole));
  std::mt19937 random(20260101);
  int accepted = 0;
  constexpr int rounds = 400;
  for (int round = 0; round < rounds; ++round) {
    double start = secondsUsed();
    accepted += importBytes(damaged(whole, random));
    EXPECT_LT(secondsUsed() - start, 100) << "round " << round;
  }
  EXPECT_GT(accepted, 0) << "the damage never got past the wire format";
  EXPECT_LT(accepted, rounds) << "the damage was never noticed";
}

INSTANTIATE_TEST_SUITE_P(Files, MutatedModels,
                         ::testing::Values("gpt2-dynamo.onnx", "gpt2-torchscript-fresh.onnx",
                                           "llama-torch26.onnx",
                                           "adversarial/05-softmax-over-batch-reject.onnx"));
} // namespace
