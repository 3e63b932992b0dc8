// SPDX-License-Identifier: Apache-2.0
// What the runtime takes from oneDNN, and how matrices are handed to it.
#ifndef ACCUM_RUNTIME_HOST_GEMMLIBRARY_H
#define ACCUM_RUNTIME_HOST_GEMMLIBRARY_H

#include "runtime/system/Status.h"
#include <cstdint>
#include <string>

namespace accum::runtime {

/// c = alpha * a * b + beta * c for row-major matrices: forms, m, n, k, alpha, a, its leading dimension, b,
/// beta, c. Not 0 where it failed, or where the processor has no instructions for it.
template <typename T>
using ProductFn = int (*)(char, char, int64_t, int64_t, int64_t, float, const T *, int64_t, const T *,
                          int64_t, float, float *, int64_t);
using SgemmFn = ProductFn<float>;
using Bf16GemmFn = ProductFn<uint16_t>;

struct GemmLibrary {
  SgemmFn sgemm = nullptr;
  /// Of bf16, summed in f32. Exported by oneDNN 2 and 3, though their headers do not declare it.
  Bf16GemmFn bf16Gemm = nullptr;
  std::string version;
};

/// Loads oneDNN now, so that its absence is an error before step 1 and not in the middle of it.
Status loadGemmLibrary();

/// Empty before loadGemmLibrary.
const GemmLibrary &gemmLibrary();

/// "oneDNN 2.6.3", or nothing before loadGemmLibrary.
std::string gemmLibraryVersion();

/// A matrix for the library: 'N' with unit column stride, 'T' with unit row stride, and the leading
/// dimension.
struct GemmOperand {
  char transpose;
  int64_t leading;
};

GemmOperand operandOf(int64_t rowStride, int64_t colStride, int64_t rows, int64_t cols);

/// The library wants one unit stride; an extent of 1 makes the other stride irrelevant.
bool isTakeable(int64_t rowStride, int64_t colStride, int64_t rows, int64_t cols);

} // namespace accum::runtime
#endif
