// SPDX-License-Identifier: Apache-2.0
// The GEMM of accum_program.h on the host: f32 by oneDNN's sgemm, bf16 widened for it, f64 by a small blocked
// loop (reference precision). Result bits depend on the operands and shapes only, never on the number of
// threads.
#ifndef ACCUM_RUNTIME_HOST_GEMM_H
#define ACCUM_RUNTIME_HOST_GEMM_H

#include "runtime/accum_program.h"
#include "runtime/system/Status.h"

namespace accum::runtime {

/// Loads oneDNN now, so that its absence is an error before step 1 and not in the middle of it.
Status loadGemmLibrary();

/// "oneDNN 2.6.3", or nothing before loadGemmLibrary.
std::string gemmLibraryVersion();

/// Refuses dtypes that the host cannot do, strides that sgemm cannot take and a bias with beta = 1. With
/// `tf32` the operands of f32 products are rounded to 10 bits of mantissa first.
Status gemm(const accum_gemm &call, float beta, bool tf32 = false);

/// The same for one point and without checks, on the calling thread, which must be a piece of parallelFor's;
/// f32 needs loadGemmLibrary first.
void gemmOnThisThread(const accum_gemm &call, float beta);

/// How a GEMM is cut, by its sizes alone: points x rows x columns tiles, neighbours in pieces that a thread
/// takes at a time.
struct GemmTiling {
  int64_t points, rows, columns;
  int64_t tileM, tileN; ///< the last of a row or column may be smaller
  int64_t pieces;
};
GemmTiling tilingOf(const accum_gemm &call);

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
