// SPDX-License-Identifier: Apache-2.0
// This process's place among the ranks: alone, or with others through a communicator plugin.
#ifndef ACCUM_RUNTIME_RANKS_COLLECTIVES_H
#define ACCUM_RUNTIME_RANKS_COLLECTIVES_H

#include "runtime/ranks/StartedCollectives.h"
#include <memory>
#include <string>
#include <utility>

namespace accum::runtime {

/// How long a rank may stand still: 20 s (the job then ends within 30), or ACCUM_WATCHDOG_SECONDS.
double watchdogSeconds();

class Collectives {
public:
  Collectives() = default;
  ~Collectives();
  Collectives(const Collectives &) = delete;
  Collectives &operator=(const Collectives &) = delete;

  /// Joins the job that the launcher ("auto", "mpi", "slurm" or "env"; see Launch.h) started: over sockets,
  /// or over MPI with libaccum_mpi.so from beside this library or program, from ../lib or from the loader's
  /// path; where that, or MPI, is not there, srun's tasks meet over sockets.
  Status join(const std::string &launcher);

  /// What this rank does until the end of the scope; see accum_collectives_v1::enter.
  class Doing {
  public:
    Doing(Collectives &ranks, accum_rank_action action, uint64_t step);
    ~Doing() { ranks.enter(before.first, before.second); }
    Doing(const Doing &) = delete;
    Doing &operator=(const Doing &) = delete;

  private:
    Collectives &ranks;
    std::pair<accum_rank_action, uint64_t> before;
  };
  /// Steps that were made, as this rank says when it leaves.
  void countSteps(uint64_t steps) { made = steps; }

  int rank() const { return ownRank; }
  int ranks() const { return count; }
  int localRanks() const { return localCount; }
  std::string version() const;

  /// Payload that this rank has sent so far, as a ring sends it: of an all-reduce of X bytes 2 (D - 1) / D X,
  /// of a reduce-scatter or all-gather half of that.
  uint64_t sentBytes() const { return sent; }

  /// No-op for one rank.
  Status allReduce(void *data, uint64_t n, int dtype, accum_reduction reduction = ACCUM_SUM,
                   double watchdog = watchdogSeconds());
  /// `data`: a part of n elements for each rank; the own one becomes the sum of all ranks'.
  Status reduceScatter(void *data, uint64_t n, int dtype, double watchdog = watchdogSeconds());
  /// `data`: a part of so many bytes for each rank; all of them come to all.
  Status allGather(void *data, uint64_t bytes, double watchdog = watchdogSeconds());
  /// The same beside what follows, until the call of the same place that ends it; where the communicator can,
  /// else that one does all. `from`: this rank's part, which is its place in `data` or elsewhere.
  void startReduceScatter(void *data, uint64_t n, int dtype);
  void startAllGather(void *data, const void *from, uint64_t bytes);
  bool isStarted(const void *data) const { return started && started->isStarted(data); }
  /// Ends what was started there.
  Status end(const void *data) { return started->end(data); }
  /// What was started ends, and nobody will ask for it.
  void forget();
  /// An error when a rank is known to have died.
  Status watch();
  /// The largest value over all ranks.
  Expected<int64_t> maximum(int64_t value, double watchdog = watchdogSeconds());
  /// Whether all ranks have this value.
  Expected<bool> isSame(uint64_t value);
  /// What rank 0 has comes to all, who wait as long as it takes.
  Status broadcast(void *data, uint64_t bytes);
  /// Success where all ranks have it. Else all get an error. The lowest rank that has one reports, of those
  /// that know more than that they have waited for another one: the errors of the others have no message, and
  /// the exit code of their own or else of that one.
  Status agree(const Status &own);
  /// Success where all ranks are in the same call.
  Status meet();
  /// Ends every rank with this exit code. The others have time to say why, where there is a reason.
  [[noreturn]] void abort(int exitCode, const char *why = nullptr);
  /// Waits for all ranks, and is alone behind it. An error where one of them goes on.
  Status leave();

private:
  Status adopt(const accum_collectives_v1 *entry);
  void enter(accum_rank_action action, uint64_t step);
  Error failure(int code) const;
  void hear(const Status &own, int speaker);
  StartedCollectives *beside();
  void settle();
  const accum_collectives_v1 *table = nullptr;
  int32_t ownRank = 0, count = 1, localCount = 1;
  uint64_t sent = 0, made = 0;
  std::pair<accum_rank_action, uint64_t> doing{ACCUM_JOINS, 0};
  std::unique_ptr<StartedCollectives> started; ///< from the first one on
};

/// What an error without a message is about, as `format` has it: what another rank has said, or this one,
/// which was not the one that speaks.
const std::string &heardError();

/// The job of this process, which is joined where nobody has it yet and left by the last who has.
Expected<std::shared_ptr<Collectives>> joinJob(const std::string &launcher);

} // namespace accum::runtime
#endif
