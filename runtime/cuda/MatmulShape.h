// SPDX-License-Identifier: Apache-2.0
// A GEMM of accum_program.h in the terms of cuBLASLt: arithmetic only.
#ifndef ACCUM_RUNTIME_CUDA_MATMULSHAPE_H
#define ACCUM_RUNTIME_CUDA_MATMULSHAPE_H

#include "runtime/accum_program.h"
#include "runtime/system/Status.h"
#include <compare>
#include <cstdint>

namespace accum::runtime::cuda {

/// A product as cuBLASLt sees it. Its matrices are column-major, so it computes the transpose of what is
/// asked: C^T [n, m] = B^T [n, k] A^T [k, m], where a row-major matrix is its own transpose. The call's B is
/// therefore the library's first operand.
struct MatmulShape {
  int64_t rows, columns, depth; ///< of the product as the library sees it: n, m, k
  int operandType, resultType, computeType, scaleType;
  int32_t firstOp, secondOp;
  int64_t firstLeading, secondLeading, resultLeading;
  int64_t points; ///< of the strided batch
  int64_t firstStride, secondStride, resultStride;
  int64_t firstAlign, secondAlign, resultAlign; ///< bytes, a power of two up to 256, for every point
  int64_t beta;                                 ///< 0 or 1
  int64_t biasAlign;                            ///< bytes as above; 0 without a bias

  auto operator<=>(const MatmulShape &) const = default;
};

/// What is left of the batch dimensions beside the strided one: loops around the call.
struct MatmulLoops {
  int count = 0;
  int64_t extent[ACCUM_GEMM_MAX_BATCH_DIMS];
  int64_t a[ACCUM_GEMM_MAX_BATCH_DIMS], b[ACCUM_GEMM_MAX_BATCH_DIMS], c[ACCUM_GEMM_MAX_BATCH_DIMS];
};

/// The call with batch dimensions merged where they follow each other in all three operands; the longest of
/// what is left becomes the strided batch. Refuses dtypes and strides that cuBLASLt cannot take.
Expected<MatmulShape> shapeOf(const accum_gemm &call, float beta, bool tf32, MatmulLoops &loops);

} // namespace accum::runtime::cuda
#endif
