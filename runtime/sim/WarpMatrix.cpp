// SPDX-License-Identifier: Apache-2.0
// Fragments by the tables of the PTX ISA: lane 4 r + c has rows r and r + 8, and columns 2 c and 2 c + 1 of
// every eight.
#include "runtime/sim/WarpMatrix.h"
#include <bit>
#include <cstring>

namespace accum::runtime::sim {
namespace {

constexpr uint32_t kWarp = 32;

/// Number `half` of the two bf16 in a word.
float bf16Of(uint32_t word, uint32_t half) {
  return std::bit_cast<float>(half == 0 ? word << 16 : word & 0xffff0000U);
}

} // namespace

void multiplyTiles(uint32_t *const words[kWarp]) {
  float left[16][16], right[16][8], sums[16][8];
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    uint32_t row = lane / 4, pair = lane % 4 * 2;
    const uint32_t *word = words[lane];
    for (uint32_t half = 0; half < 2; ++half) {
      for (uint32_t i = 0; i < 4; ++i)
        left[row + i % 2 * 8][pair + half + i / 2 * 8] = bf16Of(word[i], half);
      for (uint32_t i = 0; i < 2; ++i) {
        right[pair + half + i * 8][row] = bf16Of(word[4 + i], half);
        sums[row + i * 8][pair + half] = std::bit_cast<float>(word[6 + 2 * i + half]);
      }
    }
  }
  for (uint32_t i = 0; i < 16; ++i)
    for (uint32_t k = 0; k < 16; ++k)
      for (uint32_t j = 0; j < 8; ++j)
        sums[i][j] += left[i][k] * right[k][j];
  for (uint32_t lane = 0; lane < kWarp; ++lane)
    for (uint32_t i = 0; i < 4; ++i)
      words[lane][i] = std::bit_cast<uint32_t>(sums[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2]);
}

void multiplyTf32Tiles(uint32_t *const words[kWarp]) {
  float left[16][8], right[8][8];
  auto numberOf = [](uint32_t word) { return std::bit_cast<float>(word & 0xffffe000U); };
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    uint32_t row = lane / 4, column = lane % 4;
    for (uint32_t i = 0; i < 4; ++i)
      left[row + i % 2 * 8][column + i / 2 * 4] = numberOf(words[lane][i]);
    for (uint32_t i = 0; i < 2; ++i)
      right[column + i * 4][row] = numberOf(words[lane][4 + i]);
  }
  for (uint32_t lane = 0; lane < kWarp; ++lane)
    for (uint32_t i = 0; i < 4; ++i) {
      uint32_t row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      float sum = std::bit_cast<float>(words[lane][6 + i]);
      for (uint32_t k = 0; k < 8; ++k)
        sum += left[row][k] * right[k][column];
      words[lane][i] = std::bit_cast<uint32_t>(sum);
    }
}

void loadTiles(uint32_t *const words[kWarp], bool transposed) {
  uint16_t tiles[4][8][8];
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    uint64_t address = 0;
    std::memcpy(&address, words[lane], sizeof address);
    std::memcpy(tiles[lane / 8][lane % 8], reinterpret_cast<const void *>(address), sizeof tiles[0][0]);
  }
  for (uint32_t lane = 0; lane < kWarp; ++lane)
    for (uint32_t i = 0; i < 4; ++i) {
      uint32_t row = lane / 4, column = lane % 4 * 2;
      uint32_t low = transposed ? tiles[i][column][row] : tiles[i][row][column];
      uint32_t high = transposed ? tiles[i][column + 1][row] : tiles[i][row][column + 1];
      words[lane][i] = low | high << 16;
    }
}

} // namespace accum::runtime::sim
