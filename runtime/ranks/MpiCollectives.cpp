// SPDX-License-Identifier: Apache-2.0
// libaccum_mpi.so: collectives over MPI. Non-blocking underneath, so that a rank which waits can watch the
// others.
#include "runtime/accum_collectives.h"
#include "runtime/accum_program.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mpi.h>
#include <sched.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

// MPI allocates as much again as one all-reduce moves, and the plan has no line for that: it is in what `MPI`
// has to spare. A 475 MiB all-reduce at once also takes ten times as long; pieces of 1 to 8 MiB are all as
// fast.
constexpr uint64_t kPieceBytes = 1 << 20;

using Clock = std::chrono::steady_clock;

struct Job {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  std::vector<std::atomic<uint64_t> *> hearts; ///< of the ranks on this machine, by local rank
  std::vector<int> globalRank;                 ///< of a local rank
  std::vector<MPI_Request> requests;           ///< one per rank
  int rank = 0, ranks = 1, localRank = 0;
  std::string error, version;
} job;

int fail(const std::string &sentence) {
  job.error = sentence;
  return 1;
}

/// One cache line per rank in memory that the machine's ranks share.
void shareHeartbeats() {
  constexpr int kLine = 64;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &job.node);
  int locals;
  MPI_Comm_size(job.node, &locals);
  MPI_Comm_rank(job.node, &job.localRank);
  void *own;
  MPI_Win_allocate_shared(kLine, kLine, MPI_INFO_NULL, job.node, &own, &job.window);
  job.globalRank.resize(locals);
  MPI_Allgather(&job.rank, 1, MPI_INT, job.globalRank.data(), 1, MPI_INT, job.node);
  for (int local = 0; local < locals; ++local) {
    MPI_Aint bytes;
    int unit;
    void *base;
    MPI_Win_shared_query(job.window, local, &bytes, &unit, &base);
    job.hearts.push_back(static_cast<std::atomic<uint64_t> *>(base));
  }
  job.hearts[job.localRank]->store(0);
  MPI_Barrier(job.node);
}

int init(int32_t *rank, int32_t *ranks, int32_t *localRanks, uint64_t **heartbeat) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized && MPI_Init(nullptr, nullptr) != MPI_SUCCESS)
    return fail("MPI did not start");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  job.requests.resize(job.ranks);
  shareHeartbeats();
  *rank = job.rank;
  *ranks = job.ranks;
  *localRanks = int32_t(job.hearts.size());
  *heartbeat = reinterpret_cast<uint64_t *>(job.hearts[job.localRank]);
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  job.version = std::string(text, length);
  job.version.resize(std::min(job.version.find(','), job.version.size()));
  return 0;
}

/// Remembers when each rank of this machine was last seen moving. One for the process: waiting allocates
/// nothing.
class Watch {
public:
  void start() {
    seen.resize(job.hearts.size());
    since.assign(job.hearts.size(), Clock::now());
    for (size_t i = 0; i < seen.size(); ++i)
      seen[i] = job.hearts[i]->load(std::memory_order_relaxed);
  }

  /// The global rank that has not moved for `limit`, or -1. Ranks on other machines cannot be seen: when all
  /// of this machine's move, a wait of any length is theirs.
  int findStalled(double limit) {
    Clock::time_point now = Clock::now();
    for (size_t i = 0; i < seen.size(); ++i) {
      uint64_t count = job.hearts[i]->load(std::memory_order_relaxed);
      if (count != seen[i])
        since[i] = now;
      seen[i] = count;
      if (std::chrono::duration<double>(now - since[i]).count() > limit)
        return job.globalRank[i];
    }
    return -1;
  }

private:
  std::vector<uint64_t> seen;
  std::vector<Clock::time_point> since;
} watch;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Non-zero with a sentence when a rank has stalled.
int findStall(double watchdogSeconds, Clock::time_point started) {
  int stalled = watch.findStalled(watchdogSeconds);
  if (stalled >= 0)
    return fail("rank " + std::to_string(stalled) + " has stalled: it did nothing for " +
                std::to_string(int(watchdogSeconds)) + " s while the others wait for it");
  bool remote = int(job.hearts.size()) < job.ranks;
  if (remote && secondsSince(started) > 20 * watchdogSeconds)
    return fail("a rank on another machine has stalled: it keeps the others waiting");
  return 0;
}

/// Pieces in transit take a few milliseconds and need their sides awake; a longer wait is for a rank that
/// computes and may need this processor.
int wait(int count, MPI_Request *requests, const char *what, double watchdogSeconds) {
  constexpr double kAwake = 5e-3;
  Clock::time_point started = Clock::now();
  watch.start();
  while (true) {
    int done = 0;
    job.hearts[job.localRank]->fetch_add(1, std::memory_order_relaxed);
    if (MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS)
      return fail(std::string("MPI reports a failed ") + what);
    if (done)
      return 0;
    if (secondsSince(started) < kAwake)
      sched_yield();
    else if (int code = findStall(watchdogSeconds, started))
      return code;
    else
      usleep(50);
  }
}

MPI_Datatype typeOf(int32_t dtype) {
  switch (dtype) {
  case ACCUM_I32:
    return MPI_INT32_T;
  case ACCUM_I64:
    return MPI_INT64_T;
  case ACCUM_F32:
    return MPI_FLOAT;
  case ACCUM_F64:
    return MPI_DOUBLE;
  default:
    return MPI_DATATYPE_NULL;
  }
}

uint64_t bytesOf(int32_t dtype) { return dtype == ACCUM_I64 || dtype == ACCUM_F64 ? 8 : 4; }

int allReduce(void *data, uint64_t n, int32_t dtype, int32_t reduction, double watchdogSeconds) {
  MPI_Datatype type = typeOf(dtype);
  if (type == MPI_DATATYPE_NULL)
    return fail("an all-reduce of this dtype is not built");
  uint64_t bytes = bytesOf(dtype);
  MPI_Op op = reduction == ACCUM_MAX ? MPI_MAX : MPI_SUM;
  for (uint64_t first = 0; first < n; first += kPieceBytes / bytes) {
    uint64_t count = std::min(kPieceBytes / bytes, n - first);
    MPI_Request request;
    if (MPI_Iallreduce(MPI_IN_PLACE, static_cast<char *>(data) + first * bytes, int(count), type, op,
                       MPI_COMM_WORLD, &request) != MPI_SUCCESS)
      return fail("MPI reports a failed all-reduce");
    if (int code = wait(1, &request, "all-reduce", watchdogSeconds))
      return code;
  }
  return 0;
}

/// A reduction to each rank, or a broadcast from each, of the same place in its part: together they send what
/// a ring would, and the parts need no copy to lie side by side. MPI holds a copy of each: all of them are
/// one piece.
template <typename Start>
int overParts(uint64_t n, uint64_t bytes, const char *what, double watchdogSeconds, Start &&start) {
  uint64_t step = std::max<uint64_t>(kPieceBytes / bytes / uint64_t(job.ranks), 1);
  for (uint64_t first = 0; first < n; first += step) {
    uint64_t count = std::min(step, n - first);
    for (int root = 0; root < job.ranks; ++root)
      if (start((uint64_t(root) * n + first) * bytes, int(count), root, &job.requests[root]) != MPI_SUCCESS)
        return fail(std::string("MPI reports a failed ") + what);
    if (int code = wait(job.ranks, job.requests.data(), what, watchdogSeconds))
      return code;
  }
  return 0;
}

int reduceScatter(void *data, uint64_t n, int32_t dtype, double watchdogSeconds) {
  MPI_Datatype type = typeOf(dtype);
  if (type == MPI_DATATYPE_NULL)
    return fail("a reduce-scatter of this dtype is not built");
  return overParts(n, bytesOf(dtype), "reduce-scatter", watchdogSeconds,
                   [&](uint64_t offset, int count, int root, MPI_Request *request) {
                     char *part = static_cast<char *>(data) + offset;
                     bool isOwn = root == job.rank;
                     return MPI_Ireduce(isOwn ? MPI_IN_PLACE : part, isOwn ? part : nullptr, count, type,
                                        MPI_SUM, root, MPI_COMM_WORLD, request);
                   });
}

int allGather(void *data, uint64_t bytes, double watchdogSeconds) {
  return overParts(bytes, 1, "all-gather", watchdogSeconds,
                   [&](uint64_t offset, int count, int root, MPI_Request *request) {
                     return MPI_Ibcast(static_cast<char *>(data) + offset, count, MPI_BYTE, root,
                                       MPI_COMM_WORLD, request);
                   });
}

/// mpirun ends the job when a rank dies.
int watchRanks() { return 0; }

const char *errorText() { return job.error.c_str(); }

void abortJob(int32_t exitCode) {
  MPI_Abort(MPI_COMM_WORLD, exitCode);
  _exit(exitCode);
}

int finalize() {
  MPI_Win_free(&job.window);
  MPI_Comm_free(&job.node);
  return MPI_Finalize() == MPI_SUCCESS ? 0 : fail("MPI did not end in order");
}

const char *version() { return job.version.c_str(); }

} // namespace

extern "C" const accum_collectives_v1 *accum_collectives(void) {
  static const accum_collectives_v1 table = {2,
                                             sizeof(accum_collectives_v1),
                                             init,
                                             allReduce,
                                             reduceScatter,
                                             allGather,
                                             watchRanks,
                                             errorText,
                                             abortJob,
                                             finalize,
                                             version};
  return &table;
}
