// SPDX-License-Identifier: Apache-2.0
// The part of cuBLASLt that is used here, declared as its reference (docs.nvidia.com/cuda/cublas, "Using the
// cuBLASLt API") documents it. A test compares with cublasLt.h where one is installed.
#ifndef ACCUM_RUNTIME_CUDA_CUBLASLTAPI_H
#define ACCUM_RUNTIME_CUDA_CUBLASLTAPI_H

#include "runtime/cuda/DriverApi.h"

namespace accum::runtime::cuda {

using BlasHandle = struct OpaqueBlasHandle *;
using MatmulDesc = struct OpaqueMatmulDesc *;
using MatrixLayout = struct OpaqueMatrixLayout *;
using MatmulPreference = struct OpaqueMatmulPreference *;

struct MatmulAlgo {
  uint64_t data[8];
};
struct HeuristicResult {
  MatmulAlgo algo;
  size_t workspaceBytes;
  Result state;
  float waves;
  int reserved[4];
};

enum : Result { kBlasInvalidValue = 7, kBlasArchMismatch = 8, kBlasNotSupported = 15 }; // cublasStatus_t
enum : int { kReal32 = 0, kReal64 = 1, kRealBf16 = 14 };                                // cudaDataType
enum : int { kCompute32 = 68, kCompute64 = 70, kCompute32FastTf32 = 77 };               // cublasComputeType_t
enum : int32_t { kOpNone = 0, kOpTranspose = 1 };                                       // cublasOperation_t
enum : int32_t { kEpilogueDefault = 1, kEpilogueBias = 4 };                             // cublasLtEpilogue_t
enum : int { // cublasLtMatmulDescAttributes_t
  kDescTransposeA = 3,
  kDescTransposeB = 4,
  kDescEpilogue = 7,
  kDescBiasPointer = 8,
  kDescBiasType = 26
};
enum : int { kLayoutBatchCount = 5, kLayoutBatchStride = 6 }; // cublasLtMatrixLayoutAttribute_t
enum : int {
  kPreferenceWorkspace = 1,
  kPreferenceAlignment = 5
}; // ..PreferenceAttributes_t; 5..8: A, B, C, D

#define ACCUM_CUBLASLT_FUNCTIONS(X)                                                                          \
  X(Result, cublasLtCreate, (BlasHandle * handle))                                                           \
  X(Result, cublasLtDestroy, (BlasHandle handle))                                                            \
  X(size_t, cublasLtGetVersion, ())                                                                          \
  X(const char *, cublasLtGetStatusString, (Result code))                                                    \
  X(Result, cublasLtMatmulDescCreate, (MatmulDesc * desc, int computeType, int scaleType))                   \
  X(Result, cublasLtMatmulDescDestroy, (MatmulDesc desc))                                                    \
  X(Result, cublasLtMatmulDescSetAttribute,                                                                  \
    (MatmulDesc desc, int attribute, const void *value, size_t bytes))                                       \
  X(Result, cublasLtMatrixLayoutCreate,                                                                      \
    (MatrixLayout * layout, int type, uint64_t rows, uint64_t columns, int64_t leading))                     \
  X(Result, cublasLtMatrixLayoutDestroy, (MatrixLayout layout))                                              \
  X(Result, cublasLtMatrixLayoutSetAttribute,                                                                \
    (MatrixLayout layout, int attribute, const void *value, size_t bytes))                                   \
  X(Result, cublasLtMatmulPreferenceCreate, (MatmulPreference * preference))                                 \
  X(Result, cublasLtMatmulPreferenceDestroy, (MatmulPreference preference))                                  \
  X(Result, cublasLtMatmulPreferenceSetAttribute,                                                            \
    (MatmulPreference preference, int attribute, const void *value, size_t bytes))                           \
  X(Result, cublasLtMatmulAlgoGetHeuristic,                                                                  \
    (BlasHandle handle, MatmulDesc desc, MatrixLayout a, MatrixLayout b, MatrixLayout c, MatrixLayout d,     \
     MatmulPreference preference, int requested, HeuristicResult *results, int *returned))                   \
  X(Result, cublasLtMatmul,                                                                                  \
    (BlasHandle handle, MatmulDesc desc, const void *alpha, const void *a, MatrixLayout aLayout,             \
     const void *b, MatrixLayout bLayout, const void *beta, const void *c, MatrixLayout cLayout, void *d,    \
     MatrixLayout dLayout, const MatmulAlgo *algo, void *workspace, size_t workspaceBytes, Stream stream))

/// Pointers into the loaded libcublasLt.
struct CublasLtApi {
#define ACCUM_DECLARE(result, name, arguments) std::add_pointer_t<result arguments> name = nullptr;
  ACCUM_CUBLASLT_FUNCTIONS(ACCUM_DECLARE)
#undef ACCUM_DECLARE
};

} // namespace accum::runtime::cuda
#endif
