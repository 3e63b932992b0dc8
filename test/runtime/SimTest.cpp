// SPDX-License-Identifier: Apache-2.0
// The simulator executes, and each of its checks fires.
#include "runtime/sim/SimDevice.h"
#include "runtime/sim/SimKernels.h"
#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

using namespace accum::runtime;
using testing::HasSubstr;

namespace {

class Sim : public testing::Test {
protected:
  Sim() : kernels(std::move(*sim::SimKernels::load(SIM_TOY_KERNELS))) {
    std::iota(memory.begin(), memory.begin() + 64, 0.0f);
    kernels->memory().cover(memory.data(), sizeof memory);
  }

  /// What the named kernel is told; empty: nothing.
  std::string run(uint32_t number, float *in, float *out) {
    void *args[] = {in, out};
    Status status = kernels->launch(number, args);
    return status ? "" : status.error().message;
  }
  std::string run(uint32_t number) { return run(number, memory.data(), memory.data() + 64); }

  std::unique_ptr<sim::SimKernels> kernels;
  alignas(64) std::array<float, 256> memory{};
};

enum Kernel {
  Reverse,
  Copy,
  ReadBehind,
  WriteBefore,
  WriteOperand,
  ReadResult,
  ForgetOne,
  RaceAfterWrite,
  RaceAfterRead,
  ReadFreshShared,
  LeaveShared,
  CopyShared,
  ReadBeforeEnd,
  RaceAfterCopy,
  WriteBeforeEnd,
  CopyWhatIsRead,
  CopyBehind,
  ShuffleOfHalf,
  ShuffleOfTwo,
  Multiply,
  LoadTiles,
  MatrixOfHalf,
  MatrixOfTwo,
  BarrierOfHalf,
  BarrierOfTwo,
  SecondBlock,
  ReadShifted,
  ReadAdded,
  CopyRows,
  ReadBetween,
  WriteBetween,
  ForgetInRow
};

TEST_F(Sim, ShufflesBarriersAndSharedMemory) {
  EXPECT_EQ(run(Reverse), "");
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(memory[64 + i], float(63 - i));
}

TEST_F(Sim, NamesWhatIsOutside) {
  EXPECT_EQ(run(ReadBehind), "kernel `readBehind`, block 0, thread 63: reads 4 bytes outside of what the "
                             "command declared, at operand 0 "
                             "+ 256 of its 256 bytes");
  EXPECT_THAT(run(WriteBefore, memory.data(), memory.data() + 128),
              HasSubstr("thread 0: writes 4 bytes outside of what the command declared, at operand 1 - 4"));
}

TEST_F(Sim, OperandsAreReadOnly) {
  EXPECT_THAT(run(WriteOperand),
              HasSubstr("writes 4 bytes to what the command only reads, at operand 0 + 0"));
  EXPECT_EQ(run(Copy, memory.data(), memory.data()), "") << "a result in its operand's place";
}

TEST_F(Sim, ReadsNeedAWriter) {
  kernels->memory().forget(memory.data() + 7, 4);
  EXPECT_THAT(run(Copy), HasSubstr("thread 7: reads 4 bytes that nobody has written, at operand 0 + 28"));
  kernels->memory().wrote(memory.data() + 7, 4);
  EXPECT_EQ(run(Copy), "");
  EXPECT_THAT(run(ReadResult), HasSubstr("reads 4 bytes that nobody has written, at operand 1 + 4"));
  kernels->memory().wrote(memory.data() + 64, 256);
  EXPECT_EQ(run(ReadAdded), "");
}

TEST_F(Sim, ResultsAreWhole) {
  EXPECT_EQ(run(ForgetOne),
            "kernel `forgetOne`: leaves a result unwritten, at operand 1 + 20 of its 256 bytes");
}

TEST_F(Sim, SharedMemoryHasNoRaces) {
  EXPECT_THAT(run(RaceAfterWrite), HasSubstr("of shared memory that thread"));
  EXPECT_THAT(run(RaceAfterRead), HasSubstr("writes 4 bytes of shared memory that thread"));
  EXPECT_THAT(run(ReadFreshShared), HasSubstr("reads 4 bytes of shared memory that nobody has written"));
  EXPECT_THAT(run(LeaveShared), HasSubstr("writes 4 bytes outside of the block's shared memory"));
}

TEST_F(Sim, CopiesToSharedMemoryEndLater) {
  EXPECT_EQ(run(CopyShared), "");
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(memory[64 + i], i % 2 ? 0.0f : float(i & ~2));
  EXPECT_THAT(run(ReadBeforeEnd),
              HasSubstr("thread 0: reads 4 bytes of shared memory to which thread 0 copies, "
                        "and has not waited for the end of it"));
  EXPECT_THAT(run(WriteBeforeEnd),
              HasSubstr("thread 0: writes 4 bytes of shared memory to which thread 0 copies"));
  EXPECT_THAT(run(RaceAfterCopy), HasSubstr("of shared memory that thread"));
  EXPECT_THAT(run(CopyWhatIsRead), HasSubstr("writes 4 bytes of shared memory that thread"));
  EXPECT_THAT(run(CopyBehind), HasSubstr("thread 63: reads 4 bytes outside of what the command declared"));
}

TEST_F(Sim, WarpsMeetAtShuffles) {
  EXPECT_EQ(run(ShuffleOfHalf),
            "kernel `shuffleOfHalf`, block 0, thread 0: waits at shuffle 0, which thread 16 of its warp "
            "does not reach");
  EXPECT_THAT(run(ShuffleOfTwo), HasSubstr("waits at shuffle 0, which thread 1 of its warp does not reach"));
}

TEST_F(Sim, WarpsMultiplyTiles) {
  EXPECT_EQ(run(Multiply), "");
  for (int thread = 0; thread < 64; ++thread) { // the first warp writes row r, the second row r + 8
    int i = thread % 32 / 4 + thread / 32 * 8, j = thread % 4 * 2, sum = 100 * i + j;
    for (int k = 0; k < 16; ++k)
      sum += (i + k) * (k - j);
    EXPECT_EQ(memory[64 + thread], float(sum)) << i << ", " << j;
  }
  EXPECT_EQ(run(LoadTiles), "");
  for (int thread = 0; thread < 64; ++thread) {
    int row = thread % 32 / 4, column = thread % 4 * 2;
    EXPECT_EQ(memory[64 + thread], float(64 + (thread < 32 ? row * 8 + column : column * 8 + row)));
  }
}

TEST_F(Sim, WarpsMeetAtMatrixInstructions) {
  EXPECT_EQ(
      run(MatrixOfHalf),
      "kernel `matrixOfHalf`, block 0, thread 0: waits at matrix instruction 0, which thread 16 of its warp "
      "does not reach");
  EXPECT_THAT(run(MatrixOfTwo),
              HasSubstr("waits at matrix instruction 0, which thread 1 of its warp does not reach"));
}

TEST_F(Sim, BlocksMeetAtBarriers) {
  EXPECT_EQ(run(BarrierOfHalf),
            "kernel `barrierOfHalf`, block 0, thread 0: waits at barrier 0, which thread 32 does not reach");
  EXPECT_THAT(run(BarrierOfTwo), HasSubstr("waits at barrier 0, which thread 32 does not reach"));
}

TEST_F(Sim, NamesTheBlock) {
  EXPECT_THAT(run(SecondBlock, memory.data(), memory.data() + 128), HasSubstr("block 1, thread 0: writes"));
}

TEST_F(Sim, NamesWhatIsMisaligned) {
  EXPECT_EQ(run(ReadShifted),
            "kernel `readShifted`, block 0, thread 0: reads 16 bytes that do not begin where they "
            "must, at operand 0 + 4 of its 256 bytes");
}

TEST_F(Sim, NobodyTouchesWhatIsBetweenRows) {
  EXPECT_EQ(run(CopyRows), "") << "what is between rows stays unwritten";
  EXPECT_EQ(kernels->memory().firstUnwritten(memory.data() + 64, 256), 48u);
  EXPECT_EQ(run(ReadBetween),
            "kernel `readBetween`, block 0, thread 9: reads 16 bytes that reach between rows, at "
            "operand 0 + 36 of its 256 bytes");
  EXPECT_THAT(run(WriteBetween),
              HasSubstr("thread 44: writes 4 bytes that reach between rows, at operand 1 + 176"));
  EXPECT_EQ(run(ForgetInRow),
            "kernel `forgetInRow`: leaves a result unwritten, at operand 1 + 84 of its 256 bytes");
}

TEST_F(Sim, CopiesKeepWhatIsUnwritten) {
  kernels->memory().forget(memory.data() + 3, 4);
  kernels->memory().copied(memory.data() + 128, memory.data(), 64);
  EXPECT_EQ(kernels->memory().firstUnwritten(memory.data() + 128, 64), 12u);
}

TEST(SimFile, MustBeOne) {
  EXPECT_THAT(sim::SimKernels::load("/nowhere.so").error().message, HasSubstr("cannot be loaded"));
  EXPECT_THAT(sim::SimKernels::load(TOY_KERNELS).error().message, HasSubstr("does not define accum_sim()"));
}

} // namespace

TEST(SimDevice, LeavesAttentionToTheHost) {
  Status status = sim::SimDevice().attention({});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "the program asks sim for attention as one command");
  EXPECT_EQ(status.error().exitCode, kExitInternal);
}
