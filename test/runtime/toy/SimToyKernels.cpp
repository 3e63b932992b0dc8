// SPDX-License-Identifier: Apache-2.0
// kernels.sim.so by hand: a kernel that does everything right, and one for each thing that can be wrong. Two
// operands of 64 floats, the second one a result.
#include "runtime/sim/accum_sim.h"
#include <bit>
#include <cstddef>
#include <cstring>

namespace {

const accum_sim_hooks *hooks;

uint32_t thread() { return hooks->special(ACCUM_SIM_THREAD); }
uint32_t block() { return hooks->special(ACCUM_SIM_BLOCK); }

float read(const float *at, uint32_t operand = ACCUM_SIM_ANY) {
  hooks->load(at, sizeof *at, operand, alignof(float));
  return *at;
}

void write(float *at, float value, uint32_t operand = ACCUM_SIM_ANY) {
  hooks->store(at, sizeof *at, operand, alignof(float));
  *at = value;
}

float *in(void *const *args) { return static_cast<float *>(args[0]); }
float *out(void *const *args) { return static_cast<float *>(args[1]); }
float *shared() { return reinterpret_cast<float *>(hooks->shared()); }

// A block of 64 reverses its half of the numbers: warps by shuffles, the block through shared memory.
void reverse(void *const *args) {
  uint32_t value = uint32_t(read(in(args) + thread()));
  for (uint32_t distance = 16; distance > 0; distance /= 2)
    value = hooks->exchange(UINT32_MAX, value, distance, 0);
  write(shared() + thread(), float(value));
  hooks->barrier(1);
  write(out(args) + thread(), read(shared() + (thread() ^ 32)));
}

void copy(void *const *args) { write(out(args) + thread(), read(in(args) + thread())); }

void readBehind(void *const *args) {
  write(out(args) + thread(), read(in(args) + thread() + (thread() == 63), 0));
}

void writeBefore(void *const *args) { write(out(args) + thread() - 1, 0); }

void writeOperand(void *const *args) { write(in(args) + thread(), 1, 0); }

void readResult(void *const *args) { write(out(args) + thread(), read(out(args) + (thread() + 1) % 64)); }

void forgetOne(void *const *args) {
  if (thread() != 5)
    copy(args);
}

void raceAfterWrite(void *const *args) {
  write(shared() + thread(), 1);
  write(out(args) + thread(), read(shared() + (thread() ? thread() - 1 : 0)));
}

void raceAfterRead(void *const *args) {
  write(shared() + thread(), 1);
  hooks->barrier(0);
  float neighbour = read(shared() + (thread() + 1) % 64);
  write(shared() + thread(), neighbour);
  copy(args);
}

void readFreshShared(void *const *args) { write(out(args) + thread(), read(shared() + thread())); }

void leaveShared(void *const *args) {
  hooks->store(reinterpret_cast<uint8_t *>(shared() + 64) - 2, 4, ACCUM_SIM_ANY, 1);
  copy(args);
}

// Odd threads' numbers do not exist: zeros. `finishes`, `meets`: as they must.
void copyAhead(void *const *args, bool finishes, bool meets) {
  hooks->start_copy(shared() + thread(), in(args) + thread(), 4, thread() % 2 ? 0 : 4, 0);
  if (finishes)
    hooks->finish_copies();
  if (meets)
    hooks->barrier(0);
  write(out(args) + thread(), read(shared() + (thread() & ~2u)));
}

void copyShared(void *const *args) { copyAhead(args, true, true); }
void readBeforeEnd(void *const *args) { copyAhead(args, false, true); }
void raceAfterCopy(void *const *args) { copyAhead(args, true, false); }

void writeBeforeEnd(void *const *args) {
  hooks->start_copy(shared() + thread(), in(args) + thread(), 4, 4, 0);
  write(shared() + thread(), 1);
  hooks->finish_copies();
  copy(args);
}

void copyWhatIsRead(void *const *args) {
  write(shared() + thread(), 1);
  hooks->barrier(0);
  read(shared() + (thread() + 1) % 64);
  hooks->start_copy(shared() + thread(), in(args) + thread(), 4, 4, 0);
  hooks->barrier(1);
  hooks->finish_copies();
  copy(args);
}

void copyBehind(void *const *args) {
  hooks->start_copy(shared() + thread(), in(args) + thread() + (thread() == 63), 4, 4, 0);
  hooks->finish_copies();
  copy(args);
}

void shuffleOfHalf(void *const *args) {
  if (thread() % 32 < 16)
    hooks->exchange(UINT32_MAX, 0, 1, 0);
  copy(args);
}

void shuffleOfTwo(void *const *args) {
  hooks->exchange(UINT32_MAX, 0, 1, thread() % 2);
  copy(args);
}

// One warp, twice: products of whole numbers, which bf16 holds. Left and right operands are read from the
// input's 32 numbers a lane; the test knows what comes out.
void multiply(void *const *args) {
  uint32_t words[ACCUM_SIM_MATRIX_WORDS];
  const float *numbers = in(args);
  uint32_t lane = thread() % 32, row = lane / 4, pair = lane % 4 * 2;
  auto bf16 = [](float value) { return std::bit_cast<uint32_t>(value) >> 16; };
  // left[i][k] = numbers[i] + k, right[k][j] = numbers[k] - j, sums[i][j] = 100 i + j
  auto left = [&](uint32_t i, uint32_t k) {
    return bf16(numbers[i] + float(k)) | bf16(numbers[i] + float(k + 1)) << 16;
  };
  auto right = [&](uint32_t k, uint32_t j) {
    return bf16(numbers[k] - float(j)) | bf16(numbers[k + 1] - float(j)) << 16;
  };
  words[0] = left(row, pair), words[1] = left(row + 8, pair);
  words[2] = left(row, pair + 8), words[3] = left(row + 8, pair + 8);
  words[4] = right(pair, row), words[5] = right(pair + 8, row);
  for (uint32_t i = 0; i < 4; ++i)
    words[6 + i] = std::bit_cast<uint32_t>(100 * float(row + i / 2 * 8) + float(pair + i % 2));
  hooks->matrix(ACCUM_SIM_MULTIPLY, words, 0);
  write(out(args) + thread(), std::bit_cast<float>(words[thread() / 32 * 2]));
}

// A warp's four tiles of 8x8 numbers 0 .. 255: every lane writes its first number of tile 1, read straight
// (first warp) or transposed.
void loadTiles(void *const *args) {
  uint8_t *bytes = hooks->shared();
  for (uint32_t i = thread() * 2; i < thread() * 2 + 2; ++i)
    write(reinterpret_cast<float *>(bytes) + i, std::bit_cast<float>(2 * i | (2 * i + 1) << 16));
  hooks->barrier(0);
  uint32_t words[ACCUM_SIM_MATRIX_WORDS];
  auto address = reinterpret_cast<uint64_t>(bytes + thread() % 32 * 16);
  std::memcpy(words, &address, sizeof address);
  hooks->matrix(thread() < 32 ? ACCUM_SIM_LOAD : ACCUM_SIM_LOAD_TRANSPOSED, words, 1);
  write(out(args) + thread(), float(words[1] & 0xffff));
}

void matrixOfHalf(void *const *args) {
  uint32_t words[ACCUM_SIM_MATRIX_WORDS] = {};
  if (thread() % 32 < 16)
    hooks->matrix(ACCUM_SIM_MULTIPLY, words, 0);
  copy(args);
}

void matrixOfTwo(void *const *args) {
  uint32_t words[ACCUM_SIM_MATRIX_WORDS] = {};
  auto address = reinterpret_cast<uint64_t>(hooks->shared());
  std::memcpy(words, &address, sizeof address);
  hooks->matrix(thread() % 2 ? ACCUM_SIM_LOAD : ACCUM_SIM_LOAD_TRANSPOSED, words, 0);
  copy(args);
}

void barrierOfHalf(void *const *args) {
  if (thread() < 32)
    hooks->barrier(0);
  copy(args);
}

void barrierOfTwo(void *const *args) {
  hooks->barrier(thread() < 32 ? 0 : 1);
  copy(args);
}

void secondBlock(void *const *args) {
  if (block() == 1)
    writeBefore(args);
  else
    copy(args);
}

void copyRows(void *const *args) {
  if (thread() % 16 < 12)
    copy(args);
}

// Four floats at once, the last of them behind the row.
void readBetween(void *const *args) {
  if (thread() == 9)
    hooks->load(in(args) + thread(), 16, 0, 4);
  copyRows(args);
}

void writeBetween(void *const *args) {
  copyRows(args);
  if (thread() == 44)
    write(out(args) + thread(), 0);
}

void forgetInRow(void *const *args) {
  if (thread() != 21)
    copyRows(args);
}

// Four floats at once, from the second one on.
void readShifted(void *const *args) {
  hooks->load(in(args) + 1, 16, 0, 16);
  copy(args);
}

const accum_operand kOperands[] = {{256, 0, 0, ACCUM_READ}, {256, 0, 0, ACCUM_WRITE}};
const accum_operand kAdded[] = {{256, 0, 0, ACCUM_READ}, {256, 0, 0, ACCUM_ADD}};
// Four rows of twelve, sixteen apart.
const accum_operand kRows[] = {{256, 48, 64, ACCUM_READ}, {256, 48, 64, ACCUM_WRITE}};

constexpr accum_sim_kernel kernel(const char *name, void (*function)(void *const *), uint32_t blocks = 1,
                                  uint32_t sharedBytes = 256) {
  return {name, function, kOperands, 2, blocks, 64, sharedBytes, 1};
}

const accum_sim_kernel kKernels[] = {kernel("reverse", reverse),
                                     kernel("copy", copy),
                                     kernel("readBehind", readBehind),
                                     kernel("writeBefore", writeBefore),
                                     kernel("writeOperand", writeOperand),
                                     kernel("readResult", readResult),
                                     kernel("forgetOne", forgetOne),
                                     kernel("raceAfterWrite", raceAfterWrite),
                                     kernel("raceAfterRead", raceAfterRead),
                                     kernel("readFreshShared", readFreshShared),
                                     kernel("leaveShared", leaveShared),
                                     kernel("copyShared", copyShared),
                                     kernel("readBeforeEnd", readBeforeEnd),
                                     kernel("raceAfterCopy", raceAfterCopy),
                                     kernel("writeBeforeEnd", writeBeforeEnd),
                                     kernel("copyWhatIsRead", copyWhatIsRead),
                                     kernel("copyBehind", copyBehind),
                                     kernel("shuffleOfHalf", shuffleOfHalf),
                                     kernel("shuffleOfTwo", shuffleOfTwo),
                                     kernel("multiply", multiply),
                                     kernel("loadTiles", loadTiles, 1, 512),
                                     kernel("matrixOfHalf", matrixOfHalf),
                                     kernel("matrixOfTwo", matrixOfTwo),
                                     kernel("barrierOfHalf", barrierOfHalf),
                                     kernel("barrierOfTwo", barrierOfTwo),
                                     kernel("secondBlock", secondBlock, 2),
                                     kernel("readShifted", readShifted),
                                     {"readAdded", readResult, kAdded, 2, 1, 64, 0, 0},
                                     {"copyRows", copyRows, kRows, 2, 1, 64, 0, 0},
                                     {"readBetween", readBetween, kRows, 2, 1, 64, 0, 0},
                                     {"writeBetween", writeBetween, kRows, 2, 1, 64, 0, 0},
                                     {"forgetInRow", forgetInRow, kRows, 2, 1, 64, 0, 0}};

const accum_sim_v1 kTable = {ACCUM_SIM_VERSION, sizeof(accum_sim_v1), sizeof kKernels / sizeof *kKernels,
                             kKernels, &hooks};

} // namespace

extern "C" const accum_sim_v1 *accum_sim(void) { return &kTable; }
