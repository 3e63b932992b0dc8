// SPDX-License-Identifier: Apache-2.0
// Collectives that go on beside a rank's commands, on a thread that the rank waits for only where it must.
#ifndef ACCUM_RUNTIME_RANKS_STARTEDCOLLECTIVES_H
#define ACCUM_RUNTIME_RANKS_STARTEDCOLLECTIVES_H

#include "runtime/accum_collectives.h"
#include "runtime/system/Status.h"
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace accum::runtime {

/// One after the other, in the order in which they were started: that is the same on all ranks. A rank calls
/// the table itself only behind `settle`.
class StartedCollectives {
public:
  /// The table is called from another thread from here on. `rank`: this one.
  StartedCollectives(const accum_collectives_v1 &table, int rank);
  /// Behind all that was started.
  ~StartedCollectives();
  StartedCollectives(const StartedCollectives &) = delete;
  StartedCollectives &operator=(const StartedCollectives &) = delete;

  struct Call {
    uint8_t *data;       ///< a part for each rank
    const uint8_t *from; ///< what comes to the own part of a gathering; null: this is a reduce-scatter
    uint64_t n;          ///< elements of a part, or bytes
    int32_t dtype;
    double watchdog;
  };
  /// Nobody touches the data, or writes what is sent, until `end` of the same place.
  void start(const Call &call);
  bool isStarted(const void *data) const;
  /// Waits for it. The first error of any of them is that of all that follow, which are not made.
  Status end(const void *data);
  /// Waits for all of them.
  void settle();
  /// The same, and nobody will ask for them: of a step that was left in the middle.
  void forget();

private:
  void work();
  Status make(const Call &call) const;

  const accum_collectives_v1 &table;
  int rank;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::vector<Call> waiting;       ///< the first one is under way; a step allocates nothing here
  std::vector<const void *> begun; ///< that somebody waits for
  Status outcome;                  ///< of all so far: the first error
  bool ends = false;
  std::thread worker;
};

} // namespace accum::runtime
#endif
