// SPDX-License-Identifier: Apache-2.0
// A product in cuBLASLt's own objects. None of this needs a card, so that a test can show it to the real
// library.
#ifndef ACCUM_RUNTIME_CUDA_MATMULDESCRIPTION_H
#define ACCUM_RUNTIME_CUDA_MATMULDESCRIPTION_H

#include "runtime/cuda/CublasLtApi.h"
#include "runtime/cuda/MatmulShape.h"

namespace accum::runtime::cuda {

/// The call that failed, or the last one that did not.
struct BlasCall {
  Result code = kSuccess;
  const char *name = "";
};

struct MatmulDescription {
  MatmulDesc desc = nullptr;
  MatrixLayout first = nullptr, second = nullptr, result = nullptr;
};

/// Fills in what is null; after a failure some of it is there, too. `bias`: that of the first call, since the
/// choice of an algorithm looks at its alignment.
BlasCall describe(const CublasLtApi &api, const MatmulShape &shape, const void *bias,
                  MatmulDescription &made);
BlasCall setBias(const CublasLtApi &api, const MatmulDescription &made, const void *bias);
void release(const CublasLtApi &api, MatmulDescription &made);
/// What an algorithm may take and rely on: workspace, and the alignment of this shape's operands.
BlasCall prefer(const CublasLtApi &api, const MatmulShape &shape, uint64_t workspaceBytes,
                MatmulPreference &made);

} // namespace accum::runtime::cuda
#endif
