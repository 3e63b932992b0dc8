// SPDX-License-Identifier: Apache-2.0
// Products that sgemm does not have: bf16, and f32 with the mantissa of tf32.
#ifndef ACCUM_RUNTIME_HOST_GEMMPACKED_H
#define ACCUM_RUNTIME_HOST_GEMMPACKED_H

#include "runtime/host/CallTiles.h"
#include "runtime/host/Gemm.h"

namespace accum::runtime {

/// Rows [row, row + m) x columns [col, col + n) of a result.
struct GemmTile {
  int64_t row, m, col, n;
};

/// One tile: bf16 operands are widened, f32 ones rounded to tf32; sums in f32, rounded once where the result
/// is bf16. Any strides. Returns sgemm's code.
int gemmPackedTile(const accum_gemm &call, const GemmPoint &point, float beta, const GemmTile &tile,
                   SgemmFn sgemm);

} // namespace accum::runtime
#endif
