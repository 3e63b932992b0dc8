// SPDX-License-Identifier: Apache-2.0
// Segments: captured when seen again, replayed when the same, and given up where a program does something
// else; inputs that arrive ahead of time; memory that only the card may touch.
#include "test/runtime/cuda/FakeDevice.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace accum::runtime;
using namespace accum::test;

namespace {

/// Inputs: one number per micro-step. A micro-step copies it to where `out` says.
class CudaGraphReplay : public testing::Test {
protected:
  uint64_t inputsAt() const { return kProgram; }

  static MicroStep at(uint32_t k, uint32_t steps) { return {1, k, k == 0, k + 1 == steps}; }

  void micro(uint32_t k, uint32_t steps, uint64_t out, bool zeroFirst = false) {
    ASSERT_TRUE(card.device->feed(at(k, steps), fill));
    if (zeroFirst)
      ASSERT_TRUE(card.device->zero(card.base + out, 256));
    ASSERT_TRUE(card.device->copy(card.base + out, card.base + inputsAt(), 8));
    auto next = k + 1 < steps ? std::optional(at(k + 1, steps)) : std::nullopt;
    ASSERT_TRUE(card.device->endMicro(next));
  }
  uint64_t number(uint64_t at) {
    uint64_t value;
    std::memcpy(&value, card.take(at, 8).data(), 8);
    return value;
  }

  static constexpr uint64_t kProgram = 1 << 16;
  uint64_t base = 0; ///< what inputs are counted from
  int fills = 0;
  std::vector<std::pair<uint32_t, uint32_t>> filled; ///< phase and number, in that order
  Device::FillInputs fill = [this](MicroStep at, uint8_t *block) {
    ++fills;
    filled.emplace_back(at.phase, at.k);
    uint64_t value = base + at.k;
    std::memcpy(block, &value, 8);
    return uint64_t(8);
  };
  FakeDevice card{kProgram};
};

} // namespace

TEST_F(CudaGraphReplay, InputsOfEveryMicroStepArrive) {
  for (uint64_t step = 0; step < 4; ++step) {
    base = 100 * step;
    card.device->startStep(false);
    for (uint32_t k = 0; k < 6; ++k)
      micro(k, 6, 256 * k); // other addresses than the last one's: a segment that departs
    for (uint32_t k = 0; k < 6; ++k)
      EXPECT_EQ(number(256 * k), base + k);
  }
  EXPECT_EQ(fills, 24);
}

/// What is fetched ahead is for the loop that reads it: another phase reads other inputs.
TEST_F(CudaGraphReplay, InputsAreFetchedForTheirPhase) {
  for (bool evaluates : {false, true}) {
    filled.clear();
    card.device->startStep(evaluates);
    std::vector<MicroStep> all;
    for (uint32_t phase : {0, 3, 4})
      for (uint32_t k = 0; k < 2; ++k)
        all.push_back({phase + 8 * evaluates, k, k == 0, k == 1});
    std::vector<std::pair<uint32_t, uint32_t>> expected;
    for (size_t i = 0; i < all.size(); ++i) {
      ASSERT_TRUE(card.device->feed(all[i], fill));
      ASSERT_TRUE(card.device->endMicro(i + 1 < all.size() ? std::optional(all[i + 1]) : std::nullopt));
      expected.emplace_back(all[i].phase, all[i].k);
    }
    EXPECT_EQ(filled, expected); // each once, so none came in vain
  }
}

TEST_F(CudaGraphReplay, TheSameCallsAreOneGraph) {
  for (uint64_t step = 0; step < 3; ++step) {
    base = 10 * step;
    card.device->startStep(false);
    for (uint32_t k = 0; k < 5; ++k) {
      micro(k, 5, 0);
      EXPECT_EQ(number(0), base + k);
    }
  }
  EXPECT_EQ(card.cuda().graphs().captured, 3u); // first, middle, last
  EXPECT_EQ(card.cuda().graphs().started, 15u - 3);
}

/// Another phase is another loop, of other calls.
TEST_F(CudaGraphReplay, EveryPhaseHasGraphsOfItsOwn) {
  for (uint64_t step = 0; step < 8; ++step) {
    base = 10 * step;
    card.device->startStep(false);
    for (uint32_t phase : {0, 1})
      for (uint32_t k = 0; k < 2; ++k) {
        uint64_t out = 256 * (phase + 1);
        ASSERT_TRUE(card.device->feed({phase, k, k == 0, k == 1}, fill));
        ASSERT_TRUE(card.device->copy(card.base + out, card.base + inputsAt(), 8));
        ASSERT_TRUE(card.device->endMicro(std::nullopt));
        EXPECT_EQ(number(out), base + k);
      }
  }
  EXPECT_EQ(card.cuda().graphs().captured, 4u); // first and last of each
  EXPECT_EQ(card.cuda().graphs().started, 4u * 7);
}

/// Of several lengths each is a phase. What writes and does not add is the first micro-step of all of them,
/// and some steps have none of the shorter length: its graph is another one, and none departs.
TEST_F(CudaGraphReplay, TheFirstMicroStepOfAllLengthsIsOneOfItsOwn) {
  for (uint64_t step = 0; step < 12; ++step) {
    base = 10 * step;
    card.device->startStep(false);
    std::vector<MicroStep> all;
    for (uint32_t phase : {0, 1})
      for (uint32_t k = 0; k < (phase == 0 && step % 2 ? 0 : 2); ++k)
        all.push_back({phase, k, all.empty(), phase == 1 && k == 1});
    for (size_t i = 0; i < all.size(); ++i) {
      uint64_t out = all[i].isFirst ? 256 : 512;
      ASSERT_TRUE(card.device->feed(all[i], fill));
      ASSERT_TRUE(card.device->copy(card.base + out, card.base + inputsAt(), 8));
      ASSERT_TRUE(card.device->endMicro(i + 1 < all.size() ? std::optional(all[i + 1]) : std::nullopt));
      EXPECT_EQ(number(out), base + all[i].k);
    }
  }
  EXPECT_EQ(card.cuda().graphs().captured, 5u); // phase 0: first, middle; phase 1: first, middle, last
  EXPECT_EQ(card.cuda().graphs().started, 36u - 5);
}

TEST_F(CudaGraphReplay, OtherCallsThanCapturedAreDone) {
  for (uint64_t step = 0; step < 8; ++step) {
    base = 10 * step;
    card.device->startStep(false);
    bool zeroFirst = step % 3 == 2; // after a capture
    micro(0, 1, zeroFirst ? 512 : 0, zeroFirst);
    EXPECT_EQ(number(zeroFirst ? 512 : 0), base);
  }
}

TEST_F(CudaGraphReplay, FewerCallsThanCapturedAreDone) {
  for (int step = 0; step < 5; ++step) {
    uint64_t mark = 7 + uint64_t(step);
    card.put(0, &mark, 8);
    card.device->startStep(false);
    ASSERT_TRUE(card.device->feed(at(0, 1), fill));
    ASSERT_TRUE(card.device->copy(card.base + 256, card.base, 8));
    if (step < 3)
      ASSERT_TRUE(card.device->copy(card.base + 512, card.base, 8));
    ASSERT_TRUE(card.device->endMicro(std::nullopt));
    EXPECT_EQ(number(256), mark);
    EXPECT_EQ(number(512), std::min<uint64_t>(mark, 9));
  }
}

TEST_F(CudaGraphReplay, AMirrorKeepsItsPlaceAndFollowsItsOwner) {
  double own[2] = {1, 2};
  auto first = card.device->mirror(own, sizeof own);
  ASSERT_TRUE(first);
  own[1] = 5;
  auto second = card.device->mirror(own, sizeof own);
  ASSERT_TRUE(second);
  EXPECT_EQ(*first, *second);
  auto seen = card.device->view(*second, sizeof own);
  ASSERT_TRUE(seen);
  EXPECT_EQ(reinterpret_cast<const double *>(*seen)[1], 5);
}

TEST_F(CudaGraphReplay, LargeRangesComeBackWhole) {
  FakeDevice large(20 << 20);
  std::vector<uint8_t> pattern(Device::kPieceBytes);
  for (int piece = 0; piece < 2; ++piece) {
    std::fill(pattern.begin(), pattern.end(), uint8_t(piece + 1));
    large.put(piece * Device::kPieceBytes, pattern.data(), pattern.size());
  }
  std::vector<uint8_t> all = large.take(0, 20 << 20);
  EXPECT_EQ(all[0], 1);
  EXPECT_EQ(all[Device::kPieceBytes - 1], 1);
  EXPECT_EQ(all[Device::kPieceBytes], 2);
  EXPECT_EQ(all[2 * Device::kPieceBytes], 0);
}

TEST_F(CudaGraphReplay, MemoryOfTheCardIsNotTheProcesss) {
  EXPECT_DEATH({ *reinterpret_cast<volatile uint8_t *>(card.base) = 1; }, "");
}
