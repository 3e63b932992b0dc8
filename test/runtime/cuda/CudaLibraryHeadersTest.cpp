// SPDX-License-Identifier: Apache-2.0
// Our own declarations of cuBLASLt and NCCL against the real headers: sizes of every argument, and constants.
#include "runtime/cuda/CublasLtApi.h"
#include "runtime/cuda/NcclApi.h"
#include "test/runtime/cuda/CallShape.h"
#include <cstddef>
#include <cublasLt.h>
#include <gtest/gtest.h>
#include <nccl.h>

namespace own = accum::runtime::cuda;
using accum::test::sameShape;

TEST(CudaLibraryHeaders, CublasLtFunctionsHaveTheDocumentedShape) {
  own::CublasLtApi api;
#define CHECK_SHAPE(result, name, arguments)                                                                 \
  EXPECT_TRUE(sameShape(api.name, static_cast<decltype(&::name)>(nullptr))) << #name;
  ACCUM_CUBLASLT_FUNCTIONS(CHECK_SHAPE)
#undef CHECK_SHAPE
  EXPECT_EQ(sizeof(own::HeuristicResult), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(own::HeuristicResult, workspaceBytes),
            offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  EXPECT_EQ(offsetof(own::HeuristicResult, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
  EXPECT_EQ(sizeof(own::MatmulAlgo), sizeof(cublasLtMatmulAlgo_t));
  EXPECT_EQ(offsetof(own::HeuristicResult, algo), offsetof(cublasLtMatmulHeuristicResult_t, algo));
}

TEST(CudaLibraryHeaders, NcclFunctionsHaveTheDocumentedShape) {
  own::NcclApi api;
#define CHECK_SHAPE(result, name, arguments)                                                                 \
  EXPECT_TRUE(sameShape(api.name, static_cast<decltype(&::name)>(nullptr))) << #name;
  ACCUM_NCCL_FUNCTIONS(CHECK_SHAPE)
#undef CHECK_SHAPE
  EXPECT_EQ(sizeof(own::UniqueId), sizeof(ncclUniqueId));
}

TEST(CudaLibraryHeaders, ConstantsOfTheLibrariesAreTheirs) {
  EXPECT_EQ(int(own::kBlasInvalidValue), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(int(own::kBlasArchMismatch), CUBLAS_STATUS_ARCH_MISMATCH);
  EXPECT_EQ(int(own::kBlasNotSupported), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(int(own::kReal32), CUDA_R_32F);
  EXPECT_EQ(int(own::kReal64), CUDA_R_64F);
  EXPECT_EQ(int(own::kRealBf16), CUDA_R_16BF);
  EXPECT_EQ(int(own::kCompute32), CUBLAS_COMPUTE_32F);
  EXPECT_EQ(int(own::kCompute64), CUBLAS_COMPUTE_64F);
  EXPECT_EQ(int(own::kCompute32FastTf32), CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(int(own::kOpNone), CUBLAS_OP_N);
  EXPECT_EQ(int(own::kOpTranspose), CUBLAS_OP_T);
  EXPECT_EQ(int(own::kEpilogueDefault), CUBLASLT_EPILOGUE_DEFAULT);
  EXPECT_EQ(int(own::kEpilogueBias), CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(int(own::kDescTransposeA), CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_EQ(int(own::kDescTransposeB), CUBLASLT_MATMUL_DESC_TRANSB);
  EXPECT_EQ(int(own::kDescEpilogue), CUBLASLT_MATMUL_DESC_EPILOGUE);
  EXPECT_EQ(int(own::kDescBiasPointer), CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  EXPECT_EQ(int(own::kDescBiasType), CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
  EXPECT_EQ(int(own::kLayoutBatchCount), CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  EXPECT_EQ(int(own::kLayoutBatchStride), CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  EXPECT_EQ(int(own::kPreferenceWorkspace), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_EQ(int(own::kPreferenceAlignment), CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  EXPECT_EQ(int(own::kPreferenceAlignment) + 3, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  EXPECT_EQ(int(own::kNcclInt32), ncclInt32);
  EXPECT_EQ(int(own::kNcclInt64), ncclInt64);
  EXPECT_EQ(int(own::kNcclFloat32), ncclFloat32);
  EXPECT_EQ(int(own::kNcclFloat64), ncclFloat64);
  EXPECT_EQ(int(own::kNcclBf16), ncclBfloat16);
  EXPECT_EQ(int(own::kNcclSum), ncclSum);
  EXPECT_EQ(int(own::kNcclInProgress), ncclInProgress);
}
