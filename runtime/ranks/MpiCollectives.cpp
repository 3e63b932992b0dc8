// SPDX-License-Identifier: Apache-2.0
// libaccum_mpi.so: shares that move over MPI. Non-blocking underneath, so that a rank which waits can watch
// the others. Beside those of a collective goes what the rank does, in messages of another tag: who gets
// another one than it expects knows which ranks have lost each other.
#include "runtime/accum_collectives.h"
#include "runtime/accum_program.h"
#include "runtime/ranks/CpuProgress.h"
#include "runtime/ranks/RankCall.h"
#include "runtime/ranks/Shares.h"
#include "runtime/system/QuietThread.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mpi.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using accum::runtime::Shares, accum::runtime::Transfer, accum::runtime::RankCall;
using Clock = std::chrono::steady_clock;

constexpr int kPieces = 0, kHeadings = 1, kFarewells = 2; ///< tags
/// Seconds that the others have for saying why they cannot go on, before mpirun ends them.
constexpr double kFarewell = 0.7;
/// The same, of a rank that tells them why it leaves: each answers when it has said so, unless it is in the
/// middle of something long.
constexpr double kLongestFarewell = 3;
/// Seconds in which who was told so waits for mpirun: the job ends with the code of the rank that left first.
constexpr double kEnd = 10;

/// What a rank does, and of one that leaves early why.
struct Heading {
  RankCall call;
  char reason[accum::runtime::kMostReason] = {};
};

struct Job {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  std::vector<std::atomic<uint64_t> *> counters; ///< of the ranks on this machine, by local rank
  std::vector<int> globalRank;                   ///< of a local rank
  Shares shares;
  std::vector<MPI_Request> requests; ///< a sending and a receiving for each rank, and its heading
  Heading own;
  std::vector<Heading> headings;           ///< by rank
  std::vector<MPI_Request> headingsToCome; ///< by rank; null: it is there
  int leaver = -1;                         ///< the rank that has left, and said why
  bool asks = false;                       ///< none of this collective's headings is under way yet
  int failed = 0;                          ///< the code of all that follows a failed collective
  std::atomic<bool> exchanges{false};      ///< bytes of a collective are under way
  int rank = 0, ranks = 1, localRank = 0;
  int threads = MPI_THREAD_SINGLE; ///< which may call MPI
  std::string error, version;
};

/// It outlives the process's end: a forked child that exits ends nothing that is its parent's.
Job &job = *new Job;

int fail(const std::string &sentence, int code = 1) {
  job.error = sentence;
  return code;
}

/// One cache line per rank in memory that the machine's ranks share.
void shareCounters() {
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
    job.counters.push_back(static_cast<std::atomic<uint64_t> *>(base));
  }
  job.counters[job.localRank]->store(0);
  MPI_Barrier(job.node);
}

/// A thread that counts for how many of its rounds each rank of this machine has stood still, and says that
/// this one gets processor time. Rounds, not seconds: a job that was stopped as a whole, and goes on, blames
/// nobody.
class Watch {
public:
  void start() {
    seen.assign(job.counters.size(), 0);
    still = std::make_unique<std::atomic<uint32_t>[]>(job.counters.size());
    ending = false;
    thread = accum::runtime::startQuietThread([this] {
      for (; !ending; usleep(useconds_t(kRound * 1e6)))
        round();
    });
  }
  void stop() {
    ending = true;
    if (thread.joinable())
      thread.join();
  }

  /// The global rank that has not moved for `seconds`, or -1. Ranks on other machines cannot be seen: when
  /// all of this machine's move, a wait of any length is theirs.
  int findStalled(double seconds) const {
    auto limit = uint32_t(std::max(seconds, kLeastSilence) / kRound);
    for (size_t i = 0; i < job.counters.size(); ++i)
      if (still[i] > limit)
        return job.globalRank[i];
    return -1;
  }

private:
  static constexpr double kRound = 0.25;     ///< seconds
  static constexpr double kLeastSilence = 1; ///< seconds that a healthy rank may be late

  void round() {
    if (cpuProgress.isMade())
      job.counters[job.localRank]->fetch_add(1, std::memory_order_relaxed);
    for (size_t i = 0; i < seen.size(); ++i) {
      uint64_t count = job.counters[i]->load(std::memory_order_relaxed);
      still[i] = count == seen[i] ? still[i] + 1 : 0;
      seen[i] = count;
    }
  }

  accum::runtime::CpuProgress cpuProgress;
  std::vector<uint64_t> seen;
  std::unique_ptr<std::atomic<uint32_t>[]> still;
  std::atomic<bool> ending{false};
  std::thread thread;
};

Watch &watch = *new Watch; // as the job

int init(int32_t *rank, int32_t *ranks, int32_t *localRanks, uint64_t **counter) {
  setenv("OMPI_MCA_mpi_yield_when_idle", "0", 0); // see wait()
  int initialized = 0, threads = 0;
  MPI_Initialized(&initialized);
  if (!initialized && MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &threads) != MPI_SUCCESS)
    return fail("MPI did not start");
  MPI_Query_thread(&job.threads);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  job.requests.reserve(3 * size_t(job.ranks));
  job.headings.resize(size_t(job.ranks));
  job.headingsToCome.assign(size_t(job.ranks), MPI_REQUEST_NULL);
  job.shares.start(job.rank, job.ranks);
  shareCounters();
  watch.start();
  *rank = job.rank;
  *ranks = job.ranks;
  *localRanks = int32_t(job.counters.size());
  *counter = reinterpret_cast<uint64_t *>(job.counters[job.localRank]);
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  job.version = std::string(text, length);
  job.version.resize(std::min(job.version.find(','), job.version.size()));
  return 0;
}

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Non-zero with a sentence when a rank has stalled.
int findStall(double watchdogSeconds, Clock::time_point started) {
  int stalled = watch.findStalled(watchdogSeconds);
  if (stalled >= 0)
    return fail("rank " + std::to_string(stalled) + " has stalled: it did nothing for " +
                std::to_string(int(watchdogSeconds)) + " s while the others wait for it");
  bool remote = int(job.counters.size()) < job.ranks;
  if (remote && secondsSince(started) > 20 * watchdogSeconds)
    return fail("a rank on another machine has stalled: it keeps the others waiting");
  return 0;
}

/// A piece in transit takes less than this, in seconds, where its ranks have processors. A longer wait is for
/// a rank that computes, and may need this one.
double secondsAwake() {
  constexpr double kAwake = 1e-3, kShared = 1e-4;
  return job.counters.size() <= std::thread::hardware_concurrency() ? kAwake : kShared;
}

/// Sends what this rank does, and lets the others tell it.
int startHeadings() {
  job.asks = false;
  for (int rank = 0; rank < job.ranks; ++rank)
    if (rank != job.rank && (MPI_Irecv(&job.headings[rank], sizeof(Heading), MPI_BYTE, rank, kHeadings,
                                       MPI_COMM_WORLD, &job.headingsToCome[rank]) != MPI_SUCCESS ||
                             MPI_Isend(&job.own, sizeof(RankCall), MPI_BYTE, rank, kHeadings, MPI_COMM_WORLD,
                                       &job.requests.emplace_back()) != MPI_SUCCESS))
      return fail("MPI reports a failed message");
  return 0;
}

/// Looks at what has come; whether all has.
int checkHeadings(bool &all) {
  all = true;
  for (int rank = 0; rank < job.ranks; ++rank) {
    if (job.headingsToCome[rank] == MPI_REQUEST_NULL)
      continue;
    int done = 0;
    if (MPI_Test(&job.headingsToCome[rank], &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return fail("MPI reports a failed message");
    all &= done != 0;
    const Heading &its = job.headings[rank];
    if (!done || job.own.call.goesWith(its.call))
      continue;
    bool isGone = its.call.action == ACCUM_LEAVES;
    std::string reason(its.reason, isGone ? std::min<uint64_t>(its.call.bytes, sizeof its.reason) : 0);
    if (!reason.empty())
      job.leaver = rank;
    return fail(sentenceOf(job.rank, job.own.call, rank, its.call, reason), ACCUM_OTHER_CALL);
  }
  return 0;
}

/// Who has waited long enough sleeps, and does not yield: who wakes up is run at once, but who yields gets
/// behind all others that want the processor, at each turn of each piece. Then 500 MB take half a minute on a
/// loaded machine.
int wait(double watchdogSeconds) {
  constexpr int kNap = 20; // microseconds
  Clock::time_point started = Clock::now();
  while (true) {
    int done = 0;
    bool all = true;
    job.counters[job.localRank]->fetch_add(1, std::memory_order_relaxed);
    if (int code = checkHeadings(all))
      return code;
    // Pieces are looked at behind the headings: those of another collective may have any size.
    if (all &&
        MPI_Testall(int(job.requests.size()), job.requests.data(), &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS)
      return fail("MPI reports a failed transfer");
    if (done)
      return 0;
    if (secondsSince(started) < secondsAwake())
      continue;
    if (int code = findStall(watchdogSeconds, started))
      return code;
    usleep(kNap);
  }
}

/// Until all transfers are done.
int exchange(double watchdogSeconds) {
  job.requests.clear();
  if (job.asks)
    if (int code = startHeadings())
      return code;
  for (int rank = 0; rank < job.ranks; ++rank) {
    const Transfer &transfer = job.shares.transfers[rank];
    if (transfer.inLeft && MPI_Irecv(transfer.in, int(transfer.inLeft), MPI_BYTE, rank, kPieces,
                                     MPI_COMM_WORLD, &job.requests.emplace_back()) != MPI_SUCCESS)
      return fail("MPI reports a failed receiving");
    if (transfer.outLeft && MPI_Isend(transfer.out, int(transfer.outLeft), MPI_BYTE, rank, kPieces,
                                      MPI_COMM_WORLD, &job.requests.emplace_back()) != MPI_SUCCESS)
      return fail("MPI reports a failed sending");
  }
  return wait(watchdogSeconds);
}

/// body(), with a heading for each other rank.
template <typename Body> int collective(RankCall::Collective kind, uint64_t bytes, Body &&body) {
  if (job.failed)
    return job.failed;
  job.own.call.collective = kind;
  job.own.call.bytes = bytes;
  job.asks = true;
  job.exchanges = true;
  job.failed = body();
  job.exchanges = false;
  return job.failed;
}

void enter(int32_t action, uint64_t step) {
  job.own.call.action = action;
  job.own.call.step = step;
}

int allReduce(void *data, uint64_t n, int32_t dtype, int32_t reduction, double watchdogSeconds) {
  if (!Shares::isSummable(dtype))
    return fail("an all-reduce of this dtype is not built");
  return collective(RankCall::kAllReduce, n, [&] {
    return job.shares.allReduce(data, n, dtype, reduction, [&] { return exchange(watchdogSeconds); });
  });
}

int reduceScatter(void *data, uint64_t n, int32_t dtype, double watchdogSeconds) {
  if (!Shares::isSummable(dtype))
    return fail("a reduce-scatter of this dtype is not built");
  return collective(RankCall::kReduceScatter, n, [&] {
    return job.shares.reduceScatter(data, n, dtype, [&] { return exchange(watchdogSeconds); });
  });
}

int allGather(void *data, uint64_t bytes, double watchdogSeconds) {
  return collective(RankCall::kAllGather, bytes, [&] {
    return job.shares.allGather(data, bytes, [&] { return exchange(watchdogSeconds); });
  });
}

/// mpirun ends the job when a rank dies.
int watchRanks() { return 0; }

const char *errorText() { return job.error.c_str(); }

/// Until all have ended, or for so many seconds.
void finish(std::vector<MPI_Request> &messages, double seconds) {
  Clock::time_point began = Clock::now();
  for (int done = 0; !done && secondsSince(began) < seconds; usleep(1000))
    MPI_Testall(int(messages.size()), messages.data(), &done, MPI_STATUSES_IGNORE);
}

/// Tells the others why this rank leaves, and waits until they have said so, or leave for reasons of their
/// own.
void bidFarewell(const char *why) {
  std::vector<MPI_Request> messages;
  job.own.call.bytes = std::string(why).copy(job.own.reason, sizeof job.own.reason);
  for (int rank = 0; rank < job.ranks; ++rank)
    if (rank != job.rank) {
      MPI_Isend(&job.own, sizeof(Heading), MPI_BYTE, rank, kHeadings, MPI_COMM_WORLD,
                &messages.emplace_back());
      MPI_Isend(nullptr, 0, MPI_BYTE, rank, kFarewells, MPI_COMM_WORLD, &messages.emplace_back());
      MPI_Irecv(nullptr, 0, MPI_BYTE, rank, kFarewells, MPI_COMM_WORLD, &messages.emplace_back());
    }
  finish(messages, kLongestFarewell);
}

/// It ends the job, and has the code for that.
void answer(int leaver) {
  std::vector<MPI_Request> message(1);
  MPI_Isend(nullptr, 0, MPI_BYTE, leaver, kFarewells, MPI_COMM_WORLD, message.data());
  finish(message, kEnd);
  usleep(useconds_t(kEnd * 1e6));
}

/// mpirun ends the others at once: where they are to say why, they get the time for it.
void abortJob(int32_t exitCode, const char *why) {
  if (why && !job.failed && !job.exchanges)
    bidFarewell(why);
  else if (why && job.leaver >= 0)
    answer(job.leaver);
  else if (why)
    usleep(useconds_t(kFarewell * 1e6));
  MPI_Abort(MPI_COMM_WORLD, exitCode);
  _exit(exitCode);
}

/// Where a rank goes on, MPI is left as it is: it waits for all of them.
int finalize() {
  std::ranges::fill(job.shares.transfers, Transfer());
  int code = collective(RankCall::kNone, 0, [] { return exchange(1e8); });
  watch.stop();
  if (code)
    return code;
  MPI_Win_free(&job.window);
  MPI_Comm_free(&job.node);
  return MPI_Finalize() == MPI_SUCCESS ? 0 : fail("MPI did not end in order");
}

const char *version() { return job.version.c_str(); }

int takesThreads() { return job.threads >= MPI_THREAD_SERIALIZED; }

} // namespace

extern "C" const accum_collectives_v1 *accum_collectives(void) {
  static const accum_collectives_v1 table = {4,           sizeof(accum_collectives_v1),
                                             init,        enter,
                                             allReduce,   reduceScatter,
                                             allGather,   watchRanks,
                                             errorText,   abortJob,
                                             finalize,    version,
                                             takesThreads};
  return &table;
}
