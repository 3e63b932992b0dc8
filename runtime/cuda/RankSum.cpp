// SPDX-License-Identifier: Apache-2.0
// A communicator that failed is aborted, not destroyed: destroying one waits for its peers.
#include "runtime/cuda/RankSum.h"
#include "runtime/cuda/Library.h"
#include <algorithm>
#include <cstring>

namespace accum::runtime::cuda {
namespace {

// A piece keeps every link busy and lets the stream get on with the next.
constexpr uint64_t kPieceBytes = 64 << 20;
// Ranks differ by a data set read from a slow disk, not by more.
constexpr double kPatience = 20; ///< times the watchdog's seconds

std::optional<int> typeOf(DType dtype) {
  switch (dtype) {
  case ACCUM_I32:
    return kNcclInt32;
  case ACCUM_I64:
    return kNcclInt64;
  case ACCUM_F32:
    return kNcclFloat32;
  case ACCUM_F64:
    return kNcclFloat64;
  case ACCUM_BF16:
    return kNcclBrain16;
  default:
    return std::nullopt;
  }
}

} // namespace

Status RankSum::load() {
#define ACCUM_SYMBOL(result, name, arguments) {#name, reinterpret_cast<void **>(&api.name)},
  std::string why = loadLibrary({"libnccl.so.2", "libnccl.so"}, {ACCUM_NCCL_FUNCTIONS(ACCUM_SYMBOL)});
#undef ACCUM_SYMBOL
  if (why.empty())
    return {};
  return Error{kExitRunFailed,
               "the artifact is for several GPUs, and NCCL cannot be loaded: " + why,
               "no-nccl",
               {"install libnccl2, or name its folder in LD_LIBRARY_PATH; or compile with --devices 1"}};
}

Status RankSum::check(Result code, const char *call) const {
  if (code == kSuccess || code == kNcclInProgress)
    return {};
  const char *text = api.ncclGetErrorString(code), *last = api.ncclGetLastError(communicator);
  std::string words = text ? text : "error " + std::to_string(code);
  if (last && *last)
    words += std::string(" (") + last + ")";
  return Error{kExitRunFailed,
               std::string(call) + " failed: " + words,
               "collective",
               {"NCCL_DEBUG=WARN makes NCCL say more"}};
}

Status RankSum::join(Collectives &all) {
  if (all.ranks() == 1)
    return {};
  ranks = &all;
  UniqueId id{};
  constexpr size_t kWords = sizeof id / sizeof(int32_t);
  int32_t words[kWords + 1] = {}; // the last one: that there is an id
  Status made;
  if (all.rank() == 0) {
    made = check(api.ncclGetUniqueId(&id), "ncclGetUniqueId");
    words[kWords] = bool(made);
  }
  // The sum of one id and zeros is a broadcast.
  std::memcpy(words, &id, sizeof id);
  if (Status status = all.allReduce(words, std::size(words), ACCUM_I32); !status)
    return status;
  if (!made || !words[kWords])
    return made ? Status(Error{kExitRunFailed, "rank 0 has no id for NCCL", "collective"}) : made;
  std::memcpy(&id, words, sizeof id);
  if (Status status =
          check(api.ncclCommInitRank(&communicator, all.ranks(), id, all.rank()), "ncclCommInitRank");
      !status)
    return status;
  CUDA_TRY(compute.driver, cuStreamCreate, &stream, kStreamNonBlocking);
  CUDA_TRY(compute.driver, cuEventCreate, &before, kEventDisableTiming);
  CUDA_TRY(compute.driver, cuEventCreate, &after, kEventDisableTiming);
  compute.setWatch([this](double seconds) { return watch(seconds); });
  return {};
}

RankSum::~RankSum() {
  if (communicator)
    broken ? api.ncclCommAbort(communicator) : api.ncclCommDestroy(communicator);
  const DriverApi &driver = compute.driver.api;
  for (Event event : {before, after})
    if (event)
      driver.cuEventDestroy_v2(event);
  if (stream)
    driver.cuStreamDestroy_v2(stream);
}

Status RankSum::start(void *data, uint64_t n, DType dtype) {
  auto type = typeOf(dtype);
  if (!type)
    return Error{kExitRunFailed, "an all-reduce of this dtype is not built", "collective"};
  CUDA_TRY(compute.driver, cuEventRecord, before, compute.stream);
  CUDA_TRY(compute.driver, cuStreamWaitEvent, stream, before, 0);
  uint64_t step = kPieceBytes / bytesOf(dtype);
  for (uint64_t first = 0; first < n; first += step) {
    char *piece = static_cast<char *>(data) + first * bytesOf(dtype);
    Result code =
        api.ncclAllReduce(piece, piece, std::min(step, n - first), *type, kNcclSum, communicator, stream);
    if (Status status = check(code, "ncclAllReduce"); !status) {
      broken = true;
      return status;
    }
  }
  return {};
}

Status RankSum::finish() {
  CUDA_TRY(compute.driver, cuEventRecord, after, stream);
  CUDA_TRY(compute.driver, cuStreamWaitEvent, compute.stream, after, 0);
  return {};
}

Status RankSum::watch(double seconds) {
  Result asynchronous = kSuccess;
  Status status = check(api.ncclCommGetAsyncError(communicator, &asynchronous), "ncclCommGetAsyncError");
  if (status)
    status = check(asynchronous, "a sum over the ranks");
  if (status)
    status = ranks->watch();
  if (status && seconds > kPatience * watchdogSeconds())
    status = Error{kExitRunFailed,
                   "a rank has stalled: the others have waited " + std::to_string(int(seconds)) + " s for it",
                   "rank-stalled"};
  broken = broken || !status;
  return status;
}

std::string RankSum::version() const {
  int number = 0;
  if (!communicator || api.ncclGetVersion(&number) != kSuccess)
    return "";
  return "NCCL " + std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

} // namespace accum::runtime::cuda
