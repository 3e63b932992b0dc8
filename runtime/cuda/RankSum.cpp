// SPDX-License-Identifier: Apache-2.0
// A communicator that failed is aborted, not destroyed: destroying one waits for its peers.
#include "runtime/cuda/RankSum.h"
#include "runtime/cuda/Library.h"
#include "runtime/cuda/WatchedCall.h"
#include <algorithm>
#include <cstring>

namespace accum::runtime::cuda {
namespace {

// A piece keeps every link busy and lets the stream get on with the next.
constexpr uint64_t kPieceBytes = 64 << 20;
// Ranks differ by a data set read from a slow disk, not by more.
constexpr double kPatience = 20; ///< times the watchdog's seconds
// All ranks have loaded everything when they meet.
constexpr double kMeetingPatience = 3;

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
    return kNcclBf16;
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
  if (Status status = meet(id); !status)
    return status;
  // First where both have blocks to start: a sum that is late on one rank keeps those of all others waiting.
  int least = 0, greatest = 0;
  CUDA_TRY(compute.driver, cuCtxGetStreamPriorityRange, &least, &greatest);
  CUDA_TRY(compute.driver, cuStreamCreateWithPriority, &stream, kStreamNonBlocking, greatest);
  CUDA_TRY(compute.driver, cuEventCreate, &before, kEventDisableTiming);
  CUDA_TRY(compute.driver, cuEventCreate, &after, kEventDisableTiming);
  compute.setWatch([this](double seconds) { return watch(seconds, kPatience); });
  return {};
}

/// NCCL waits for ranks that never come without an end.
Status RankSum::meet(const UniqueId &id) {
  auto made = std::make_shared<Communicator>(nullptr);
  auto call = [made, id, init = api.ncclCommInitRank, count = ranks->ranks(), own = ranks->rank()] {
    return init(made.get(), count, id, own);
  };
  auto code =
      callWatched(compute.driver, call, [this](double seconds) { return watch(seconds, kMeetingPatience); });
  if (!code)
    return code.error();
  communicator = *made;
  return check(*code, "ncclCommInitRank");
}

void RankSum::abandon() {
  if (broken && communicator)
    api.ncclCommAbort(std::exchange(communicator, nullptr));
}

RankSum::~RankSum() {
  abandon();
  if (communicator)
    api.ncclCommDestroy(communicator);
  const DriverApi &driver = compute.driver.api;
  for (const auto &[place, event] : arrivals)
    driver.cuEventDestroy_v2(event);
  for (Event event : {before, after})
    if (event)
      driver.cuEventDestroy_v2(event);
  if (stream)
    driver.cuStreamDestroy_v2(stream);
}

/// What follows on the stream of sums comes after what is on the compute stream.
Status RankSum::wait() {
  CUDA_TRY(compute.driver, cuEventRecord, before, compute.stream);
  CUDA_TRY(compute.driver, cuStreamWaitEvent, stream, before, 0);
  return {};
}

Status RankSum::start(void *data, uint64_t n, DType dtype) {
  auto type = typeOf(dtype);
  if (!type)
    return Error{kExitRunFailed, "an all-reduce of this dtype is not built", "collective"};
  if (Status status = wait(); !status)
    return status;
  uint64_t step = kPieceBytes / bytesOf(dtype);
  for (uint64_t first = 0; first < n; first += step) {
    char *piece = static_cast<char *>(data) + first * bytesOf(dtype);
    if (Status status = sum(piece, std::min(step, n - first), *type); !status) {
      broken = true;
      return status;
    }
  }
  return {};
}

/// While a graph is captured only calls of known kinds are made: each segment ran call by call before.
template <typename Call> Status RankSum::run(const char *name, uint64_t n, int type, Call &&call) {
  if (!known.insert({name, n, type}).second)
    return check(call(), name);
  auto code = callWatched(compute.driver, call, [this](double seconds) { return watch(seconds, kPatience); });
  return code ? check(*code, name) : code.error();
}

Status RankSum::sum(void *data, uint64_t n, int type) {
  return run("ncclAllReduce", n, type, [=, reduce = api.ncclAllReduce, to = stream, over = communicator] {
    return reduce(data, data, n, type, kNcclSum, over, to);
  });
}

Status RankSum::startReduceScatter(void *data, uint64_t n, DType dtype) {
  auto type = typeOf(dtype);
  if (!type)
    return Error{kExitRunFailed, "a reduce-scatter of this dtype is not built", "collective"};
  if (Status status = wait(); !status)
    return status;
  char *own = static_cast<char *>(data) + uint64_t(ranks->rank()) * n * bytesOf(dtype);
  Status status = run("ncclReduceScatter", n, *type,
                      [=, reduce = api.ncclReduceScatter, on = stream, over = communicator, type = *type] {
                        return reduce(data, own, n, type, kNcclSum, over, on);
                      });
  return mark(data, status);
}

Status RankSum::startAllGather(void *to, const void *from, uint64_t bytes) {
  if (Status status = wait(); !status)
    return status;
  Status status = run("ncclAllGather", bytes, kNcclInt8,
                      [=, gather = api.ncclAllGather, on = stream, over = communicator] {
                        return gather(from, to, bytes, kNcclInt8, over, on);
                      });
  return mark(to, status);
}

/// When what was started is there. Places are those of a program: few.
Status RankSum::mark(const void *place, const Status &started) {
  broken = broken || !started;
  if (!started)
    return started;
  Event &arrival = arrivals[reinterpret_cast<uint64_t>(place)];
  if (!arrival)
    CUDA_TRY(compute.driver, cuEventCreate, &arrival, kEventDisableTiming);
  CUDA_TRY(compute.driver, cuEventRecord, arrival, stream);
  return {};
}

Status RankSum::finish(uint64_t place) {
  CUDA_TRY(compute.driver, cuStreamWaitEvent, compute.stream, arrivals[place], 0);
  return {};
}

Status RankSum::finish() {
  CUDA_TRY(compute.driver, cuEventRecord, after, stream);
  CUDA_TRY(compute.driver, cuStreamWaitEvent, compute.stream, after, 0);
  return {};
}

Status RankSum::watch(double seconds, double patience) {
  Result asynchronous = kSuccess;
  Status status;
  if (communicator) // not while they meet
    status = check(api.ncclCommGetAsyncError(communicator, &asynchronous), "ncclCommGetAsyncError");
  if (status)
    status = check(asynchronous, "a sum over the ranks");
  if (status)
    status = ranks->watch();
  if (status && seconds > patience * watchdogSeconds())
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
