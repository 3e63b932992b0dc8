// SPDX-License-Identifier: Apache-2.0
// Products of bf16 in the processor's own instructions, where they are faster than sgemm of widened operands.
#ifndef ACCUM_RUNTIME_HOST_GEMMBF16_H
#define ACCUM_RUNTIME_HOST_GEMMBF16_H

#include "runtime/host/GemmPacked.h"

namespace accum::runtime {

/// How this process multiplies bf16.
struct Bf16Products {
  bool native = false;
  bool asked = false; ///< by the environment
  /// Time of a product of widened operands over that of a native one; 0: no native ones, or not measured.
  double gain = 0;
};

/// Measured at the first call, in some milliseconds, and the same from then on. `ACCUM_BF16_PRODUCTS` in the
/// environment, `native` or `widened`, decides instead where both are possible. Needs loadGemmLibrary first;
/// not from inside parallelFor.
const Bf16Products &bf16Products();

/// Whatever was measured, before the first product: another rank has none that are faster.
void widenBf16Products();

/// One tile of a bf16 product whose operands are takeable; sums in f32, rounded once where the result is
/// bf16. Returns the library's code.
int gemmBf16Tile(const accum_gemm &call, const GemmPoint &point, float beta, const GemmTile &tile,
                 Bf16GemmFn multiply);

} // namespace accum::runtime
#endif
