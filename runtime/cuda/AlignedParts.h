// SPDX-License-Identifier: Apache-2.0
// A large product whose extents suit no fast kernel, as several products of which one does nearly all.
#ifndef ACCUM_RUNTIME_CUDA_ALIGNEDPARTS_H
#define ACCUM_RUNTIME_CUDA_ALIGNEDPARTS_H

#include "runtime/accum_program.h"
#include <vector>

namespace accum::runtime::cuda {

struct GemmPart {
  accum_gemm call;
  float beta;
};

/// Products smaller than this gain less than the further calls cost (some 5 us each).
inline constexpr double kLeastOperations = 4e9;

/// cuBLASLt's fast kernels want extents that are stored contiguously to be multiples of 16 bytes, even where
/// every row is aligned. Measured on an H100 in bf16 (27 November 2026): 4096 x 50257 x 768 in rows 50,304
/// apart runs at 91 TFLOP/s, 58368 x 2304 x 768 at 640. Such an extent is cut into a multiple of 16 bytes
/// and a remainder; the parts together write each element of C as often as the whole does, but where k is
/// cut, the remainder's few terms are rounded to C's type once more. Parts run in the order given. Returns
/// the call itself where nothing is to be gained: small products, rows that are not aligned.
std::vector<GemmPart> alignedParts(const accum_gemm &call, float beta,
                                   double leastOperations = kLeastOperations);

} // namespace accum::runtime::cuda
#endif
