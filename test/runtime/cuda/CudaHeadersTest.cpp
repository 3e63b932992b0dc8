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

TEST(CudaHeaders, HandlesAndAddressesHaveTheirSizes) {
  EXPECT_EQ(sizeof(own::Result), sizeof(CUresult));
  EXPECT_EQ(sizeof(own::DeviceNumber), sizeof(CUdevice));
  EXPECT_EQ(sizeof(own::Address), sizeof(CUdeviceptr));
  EXPECT_EQ(sizeof(own::Stream), sizeof(CUstream));
  EXPECT_EQ(sizeof(own::GraphExec), sizeof(CUgraphExec));
  EXPECT_EQ(sizeof(int), sizeof(CUjit_option)); // an array of them is passed
}

TEST(CudaHeaders, ConstantsAreTheLibraries) {
  EXPECT_EQ(int(own::kOutOfMemory), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(int(own::kStubLibrary), CUDA_ERROR_STUB_LIBRARY);
  EXPECT_EQ(int(own::kDeviceUnavailable), CUDA_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_EQ(int(own::kNvlinkUncorrectable), CUDA_ERROR_NVLINK_UNCORRECTABLE);
  EXPECT_EQ(int(own::kJitCompilerNotFound), CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
  EXPECT_EQ(int(own::kJitDisabled), CUDA_ERROR_JIT_COMPILATION_DISABLED);
  EXPECT_EQ(int(own::kContained), 226); // CUDA_ERROR_CONTAINED of CUDA 12.8 and later
  EXPECT_EQ(int(own::kLaunchTimeout), CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_EQ(int(own::kHardwareStackError), CUDA_ERROR_HARDWARE_STACK_ERROR);
  EXPECT_EQ(int(own::kIllegalInstruction), CUDA_ERROR_ILLEGAL_INSTRUCTION);
  EXPECT_EQ(int(own::kMisalignedAddress), CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_EQ(int(own::kInvalidAddressSpace), CUDA_ERROR_INVALID_ADDRESS_SPACE);
  EXPECT_EQ(int(own::kInvalidPc), CUDA_ERROR_INVALID_PC);
  EXPECT_EQ(int(own::kTensorMemoryLeak), 721); // CUDA_ERROR_TENSOR_MEMORY_LEAK of CUDA 12.8 and later
  EXPECT_EQ(int(own::kSystemNotReady), CUDA_ERROR_SYSTEM_NOT_READY);
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
