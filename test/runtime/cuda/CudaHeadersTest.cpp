// SPDX-License-Identifier: Apache-2.0
// Our own declarations of the CUDA driver against cuda.h: sizes of every argument, and constants.
#include "runtime/cuda/DriverApi.h"
#include "test/runtime/cuda/CallShape.h"
#include <cuda.h>
#include <gtest/gtest.h>

namespace own = accum::runtime::cuda;
using accum::test::sameShape;

TEST(CudaHeaders, DriverFunctionsHaveTheDocumentedShape) {
  own::DriverApi api;
#define CHECK_SHAPE(name, arguments)                                                                         \
  EXPECT_TRUE(sameShape(api.name, static_cast<decltype(&::name)>(nullptr))) << #name;
  ACCUM_CUDA_DRIVER_FUNCTIONS(CHECK_SHAPE)
#undef CHECK_SHAPE
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
