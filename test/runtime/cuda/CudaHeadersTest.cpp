// SPDX-License-Identifier: Apache-2.0
// Our own declarations of the CUDA libraries against the real headers: sizes of every argument, and
// constants.
#include "runtime/cuda/CublasLtApi.h"
#include "runtime/cuda/DriverApi.h"
#include "runtime/cuda/NcclApi.h"
#include <cublasLt.h>
#include <cuda.h>
#include <gtest/gtest.h>
#include <nccl.h>

namespace own = accum::runtime::cuda;

namespace {

/// Whether a call through one type does what a call through the other would: as many arguments, of equal
/// sizes and kinds of register.
template <typename A, typename B>
constexpr bool passesAlike =
    sizeof(A) == sizeof(B) && std::is_floating_point_v<A> == std::is_floating_point_v<B> &&
    std::is_class_v<A> == std::is_class_v<B> && std::is_pointer_v<A> == std::is_pointer_v<B>;

template <typename R, typename... A, typename S, typename... B> bool sameShape(R (*)(A...), S (*)(B...)) {
  if constexpr (sizeof...(A) != sizeof...(B))
    return false;
  else
    return passesAlike<R, S> && (passesAlike<A, B> && ...);
}

} // namespace

TEST(CudaHeaders, DriverFunctionsHaveTheDocumentedShape) {
  own::DriverApi api;
#define CHECK_SHAPE(name, arguments)                                                                         \
  EXPECT_TRUE(sameShape(api.name, static_cast<decltype(&::name)>(nullptr))) << #name;
  ACCUM_CUDA_DRIVER_FUNCTIONS(CHECK_SHAPE)
#undef CHECK_SHAPE
}

TEST(CudaHeaders, CublasLtFunctionsHaveTheDocumentedShape) {
  own::CublasLtApi api;
#define CHECK_SHAPE(result, name, arguments)                                                                 \
  EXPECT_TRUE(sameShape(api.name, static_cast<decltype(&::name)>(nullptr))) << #name;
  ACCUM_CUBLASLT_FUNCTIONS(CHECK_SHAPE)
#undef CHECK_SHAPE
  EXPECT_EQ(sizeof(own::HeuristicResult), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(own::HeuristicResult, workspaceBytes),
            offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  EXPECT_EQ(offsetof(own::HeuristicResult, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
}

TEST(CudaHeaders, NcclFunctionsHaveTheDocumentedShape) {
  own::NcclApi api;
#define CHECK_SHAPE(result, name, arguments)                                                                 \
  EXPECT_TRUE(sameShape(api.name, static_cast<decltype(&::name)>(nullptr))) << #name;
  ACCUM_NCCL_FUNCTIONS(CHECK_SHAPE)
#undef CHECK_SHAPE
  EXPECT_EQ(sizeof(own::UniqueId), sizeof(ncclUniqueId));
}

TEST(CudaHeaders, ConstantsAreTheLibraries) {
  EXPECT_EQ(int(own::kOutOfMemory), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(int(own::kNoDevice), CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(int(own::kInvalidImage), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(int(own::kNoBinaryForGpu), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(int(own::kEccUncorrectable), CUDA_ERROR_ECC_UNCORRECTABLE);
  EXPECT_EQ(int(own::kInvalidPtx), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(int(own::kUnsupportedPtxVersion), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(int(own::kNotFound), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(int(own::kNotReady), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(int(own::kIllegalAddress), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(int(own::kLaunchFailed), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(int(own::kSystemDriverMismatch), CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
  EXPECT_EQ(int(own::kComputeCapabilityMajor), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(int(own::kComputeCapabilityMinor), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(int(own::kJitErrorLogBuffer), CU_JIT_ERROR_LOG_BUFFER);
  EXPECT_EQ(int(own::kJitErrorLogBufferBytes), CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  EXPECT_EQ(int(own::kMaxDynamicSharedBytes), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_EQ(int(own::kStreamNonBlocking), CU_STREAM_NON_BLOCKING);
  EXPECT_EQ(int(own::kEventDisableTiming), CU_EVENT_DISABLE_TIMING);
  EXPECT_EQ(int(own::kCaptureThreadLocal), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

TEST(CudaHeaders, ConstantsOfTheLibrariesAreTheirs) {
  EXPECT_EQ(int(own::kReal32), CUDA_R_32F);
  EXPECT_EQ(int(own::kReal64), CUDA_R_64F);
  EXPECT_EQ(int(own::kRealBrain16), CUDA_R_16BF);
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
  EXPECT_EQ(int(own::kNcclBrain16), ncclBfloat16);
  EXPECT_EQ(int(own::kNcclSum), ncclSum);
  EXPECT_EQ(int(own::kNcclInProgress), ncclInProgress);
}
