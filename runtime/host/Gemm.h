// SPDX-License-Identifier: Apache-2.0
// The GEMM of accum_program.h on the host: f32 by oneDNN's sgemm, bf16 by its products of bf16 or widened for
// sgemm, f64 by a small blocked loop (reference precision). Result bits depend on the operands and shapes
// only, never on the number of threads.
#ifndef ACCUM_RUNTIME_HOST_GEMM_H
#define ACCUM_RUNTIME_HOST_GEMM_H

#include "runtime/accum_program.h"
#include "runtime/host/GemmLibrary.h"
#include "runtime/system/Status.h"

namespace accum::runtime {

/// How operands with short mantissas are multiplied.
enum class ShortProducts {
  Fastest, ///< bf16 in the processor's instructions where bf16Products() chose them, else widened
  Native,  ///< bf16 in the processor's instructions
  Widened, ///< bf16 widened to f32: every product is exact
  Tf32,    ///< widened, and operands of f32 rounded to 10 bits of mantissa first
};

/// Refuses dtypes that the host cannot do, strides that sgemm cannot take and a bias with beta = 1. Operands
/// of bf16 may have any strides: those that the library cannot take are widened.
Status gemm(const accum_gemm &call, float beta, ShortProducts products = ShortProducts::Fastest);

/// The same for one point and without checks, on the calling thread, which must be a piece of parallelFor's;
/// f32 needs loadGemmLibrary first.
void gemmOnThisThread(const accum_gemm &call, float beta);

/// Whether a is bf16 and b f32 that is rounded.
inline bool hasWideB(const accum_gemm &call) { return call.dtype == (ACCUM_BF16 | ACCUM_GEMM_WIDE_B); }

/// One point of the batch dimensions, for the loops behind `gemm`.
struct GemmPoint {
  const void *a, *b, *bias;
  void *c;
};

/// The pointers of batch point `index`, 0 <= index < product of batch.
GemmPoint pointOf(const accum_gemm &call, int64_t index);

/// Rows [row, row + m) x columns [col, col + n) of one point, in double, accumulating over k in order.
void gemmF64Tile(const accum_gemm &call, const GemmPoint &point, double beta, int64_t row, int64_t m,
                 int64_t col, int64_t n);

} // namespace accum::runtime
#endif
