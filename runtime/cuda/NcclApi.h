// SPDX-License-Identifier: Apache-2.0
// The part of NCCL that is used here, declared as its reference (docs.nvidia.com/deeplearning/nccl) documents
// it. A test compares with nccl.h where one is installed.
#ifndef ACCUM_RUNTIME_CUDA_NCCLAPI_H
#define ACCUM_RUNTIME_CUDA_NCCLAPI_H

#include "runtime/cuda/DriverApi.h"

namespace accum::runtime::cuda {

using Communicator = struct OpaqueCommunicator *;
struct UniqueId {
  char bytes[128];
};
enum : int {
  kNcclInt8 = 0,
  kNcclInt32 = 2,
  kNcclInt64 = 4,
  kNcclFloat32 = 7,
  kNcclFloat64 = 8,
  kNcclBf16 = 9
};
enum : int { kNcclSum = 0 };
enum : Result { kNcclInProgress = 7 };

#define ACCUM_NCCL_FUNCTIONS(X)                                                                              \
  X(Result, ncclGetVersion, (int *version))                                                                  \
  X(Result, ncclGetUniqueId, (UniqueId * id))                                                                \
  X(Result, ncclCommInitRank, (Communicator * communicator, int ranks, UniqueId id, int rank))               \
  X(Result, ncclCommDestroy, (Communicator communicator))                                                    \
  X(Result, ncclCommAbort, (Communicator communicator))                                                      \
  X(Result, ncclCommGetAsyncError, (Communicator communicator, Result * error))                              \
  X(const char *, ncclGetErrorString, (Result code))                                                         \
  X(const char *, ncclGetLastError, (Communicator communicator))                                             \
  X(Result, ncclReduceScatter,                                                                               \
    (const void *from, void *to, size_t countOfRank, int type, int operation, Communicator communicator,     \
     Stream stream))                                                                                         \
  X(Result, ncclAllGather,                                                                                   \
    (const void *from, void *to, size_t countOfRank, int type, Communicator communicator, Stream stream))    \
  X(Result, ncclAllReduce,                                                                                   \
    (const void *from, void *to, size_t count, int type, int operation, Communicator communicator,           \
     Stream stream))

/// Pointers into the loaded libnccl.so.2.
struct NcclApi {
#define ACCUM_DECLARE(result, name, arguments) std::add_pointer_t<result arguments> name = nullptr;
  ACCUM_NCCL_FUNCTIONS(ACCUM_DECLARE)
#undef ACCUM_DECLARE
};

} // namespace accum::runtime::cuda
#endif
