// SPDX-License-Identifier: Apache-2.0
// What a warp's tensor core instructions do, on the words of its 32 lanes.
#ifndef ACCUM_RUNTIME_SIM_WARPMATRIX_H
#define ACCUM_RUNTIME_SIM_WARPMATRIX_H

#include <cstdint>

namespace accum::runtime::sim {

/// mma.m16n8k16 of bf16: 16x16 times 16x8, plus 16x8 sums in f32 (accum_sim.h: ACCUM_SIM_MULTIPLY). Products
/// are exact, and added in f32 in order; a card's order and rounding are its own.
void multiplyTiles(uint32_t *const words[32]);

/// The same of mma.m16n8k8 of tf32: 16x8 times 8x8, of which a card ignores all but 10 bits of mantissa.
void multiplyTf32Tiles(uint32_t *const words[32]);

/// ldmatrix.m8n8.x4: lane 8 i + r names row r of matrix i, a lane gets two neighbours of each matrix: of one
/// row, or, transposed, of one column. The caller has checked the addresses.
void loadTiles(uint32_t *const words[32], bool transposed);

} // namespace accum::runtime::sim
#endif
