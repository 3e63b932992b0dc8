// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver interface that is used here, declared as the CUDA Driver API reference
// (docs.nvidia.com/cuda/cuda-driver-api) documents it, so that no toolkit is needed to build. The names are
// the library's: a _v2 is the current form. A test compares with cuda.h where one is installed.
#ifndef ACCUM_RUNTIME_CUDA_DRIVERAPI_H
#define ACCUM_RUNTIME_CUDA_DRIVERAPI_H

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace accum::runtime::cuda {

using Result = int;
using DeviceNumber = int;
using Address = unsigned long long; ///< of device memory
using Context = struct OpaqueContext *;
using Module = struct OpaqueModule *;
using Function = struct OpaqueFunction *;
using Stream = struct OpaqueStream *;
using Event = struct OpaqueEvent *;
using Graph = struct OpaqueGraph *;
using GraphExec = struct OpaqueGraphExec *;

enum : Result {
  kSuccess = 0,
  kOutOfMemory = 2,
  kStubLibrary = 34,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidImage = 200,
  kNoBinaryForGpu = 209,
  kEccUncorrectable = 214,
  kInvalidPtx = 218,
  kNvlinkUncorrectable = 220,
  kJitCompilerNotFound = 221,
  kUnsupportedPtxVersion = 222,
  kJitDisabled = 223,
  kContained = 226,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchTimeout = 702,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kTensorMemoryLeak = 721,
  kSystemNotReady = 802,
  kSystemDriverMismatch = 803
};
enum : int { kComputeCapabilityMajor = 75, kComputeCapabilityMinor = 76 }; // CUdevice_attribute
enum : int { kJitErrorLogBuffer = 5, kJitErrorLogBufferBytes = 6 };        // CUjit_option
enum : int { kMaxDynamicSharedBytes = 8 };                                 // CUfunction_attribute
enum : int { kStreamNonBlocking = 1, kEventDisableTiming = 2, kCaptureThreadLocal = 1 };

#define ACCUM_CUDA_DRIVER_FUNCTIONS(X)                                                                       \
  X(cuInit, (unsigned flags))                                                                                \
  X(cuDriverGetVersion, (int *version))                                                                      \
  X(cuGetErrorName, (Result code, const char **text))                                                        \
  X(cuGetErrorString, (Result code, const char **text))                                                      \
  X(cuDeviceGetCount, (int *count))                                                                          \
  X(cuDeviceGet, (DeviceNumber * device, int ordinal))                                                       \
  X(cuDeviceGetName, (char *name, int bytes, DeviceNumber device))                                           \
  X(cuDeviceGetAttribute, (int *value, int attribute, DeviceNumber device))                                  \
  X(cuDevicePrimaryCtxRetain, (Context * context, DeviceNumber device))                                      \
  X(cuDevicePrimaryCtxRelease_v2, (DeviceNumber device))                                                     \
  X(cuCtxSetCurrent, (Context context))                                                                      \
  X(cuCtxGetStreamPriorityRange, (int *least, int *greatest))                                                \
  X(cuModuleLoadDataEx, (Module * module, const void *image, unsigned count, int *options, void **values))   \
  X(cuModuleUnload, (Module module))                                                                         \
  X(cuModuleGetFunction, (Function * function, Module module, const char *name))                             \
  X(cuFuncSetAttribute, (Function function, int attribute, int value))                                       \
  X(cuLaunchKernel,                                                                                          \
    (Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,    \
     unsigned blockZ, unsigned sharedBytes, Stream stream, void **parameters, void **extra))                 \
  X(cuMemGetInfo_v2, (size_t *free, size_t *total))                                                          \
  X(cuMemAlloc_v2, (Address * at, size_t bytes))                                                             \
  X(cuMemFree_v2, (Address at))                                                                              \
  X(cuMemAllocHost_v2, (void **at, size_t bytes))                                                            \
  X(cuMemFreeHost, (void *at))                                                                               \
  X(cuMemcpyHtoDAsync_v2, (Address to, const void *from, size_t bytes, Stream stream))                       \
  X(cuMemcpyDtoHAsync_v2, (void *to, Address from, size_t bytes, Stream stream))                             \
  X(cuMemcpyDtoDAsync_v2, (Address to, Address from, size_t bytes, Stream stream))                           \
  X(cuMemsetD8Async, (Address at, unsigned char value, size_t bytes, Stream stream))                         \
  X(cuStreamCreate, (Stream * stream, unsigned flags))                                                       \
  X(cuStreamCreateWithPriority, (Stream * stream, unsigned flags, int priority))                             \
  X(cuStreamDestroy_v2, (Stream stream))                                                                     \
  X(cuStreamSynchronize, (Stream stream))                                                                    \
  X(cuStreamWaitEvent, (Stream stream, Event event, unsigned flags))                                         \
  X(cuEventCreate, (Event * event, unsigned flags))                                                          \
  X(cuEventDestroy_v2, (Event event))                                                                        \
  X(cuEventRecord, (Event event, Stream stream))                                                             \
  X(cuEventQuery, (Event event))                                                                             \
  X(cuEventSynchronize, (Event event))                                                                       \
  X(cuStreamBeginCapture_v2, (Stream stream, int mode))                                                      \
  X(cuStreamEndCapture, (Stream stream, Graph * graph))                                                      \
  X(cuGraphInstantiateWithFlags, (GraphExec * exec, Graph graph, unsigned long long flags))                  \
  X(cuGraphLaunch, (GraphExec exec, Stream stream))                                                          \
  X(cuGraphDestroy, (Graph graph))                                                                           \
  X(cuGraphExecDestroy, (GraphExec exec))

/// Pointers into the loaded libcuda.so.1.
struct DriverApi {
#define ACCUM_DECLARE(name, arguments) std::add_pointer_t<Result arguments> name = nullptr;
  ACCUM_CUDA_DRIVER_FUNCTIONS(ACCUM_DECLARE)
#undef ACCUM_DECLARE
};

} // namespace accum::runtime::cuda
#endif
