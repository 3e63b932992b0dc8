// SPDX-License-Identifier: Apache-2.0
// Threads that wait for pieces of work.
#ifndef ACCUM_RUNTIME_SYSTEM_WORKERS_H
#define ACCUM_RUNTIME_SYSTEM_WORKERS_H

#include "runtime/system/Patience.h"
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace accum::runtime {

/// A caller and its workers do one job at a time. A job is open while there are pieces to be had; a worker
/// that comes later does nothing, and the caller waits only for workers that are inside. So a worker that
/// gets no processor, since others use it, holds up no other.
class Workers {
public:
  /// Called by every thread that takes part, at the same time; returns when no piece is left.
  struct Job {
    void (*run)(void *);
    void *data;
  };

  Workers() = default;
  ~Workers() { resize(1); }
  Workers(const Workers &) = delete;
  Workers &operator=(const Workers &) = delete;

  /// So many threads, the caller's included; fewer where the system starts no more.
  void resize(int threads);
  int threads() const { return count.load(std::memory_order_relaxed); }

  /// Does `job` with up to `most` threads. False where another thread's job is under way, or where this
  /// process is a fork without the workers: then nothing has been done.
  bool run(const Job &job, int64_t most);

private:
  void work(uint32_t seen);
  bool enter();
  void leave();
  void startWorkers(int wanted);
  void endWorkers();
  void wakeFor(int64_t wanted);
  void waitUntilLeft();

  static constexpr uint32_t kOpen = 1u << 31,
                            kSleeps = 1u << 30; ///< in `gate`; below: workers that are inside

  std::mutex busy;                 ///< held by the caller of a job
  std::atomic<int> count{1};       ///< threads
  std::atomic<bool> ends{false};   ///< for the workers
  std::atomic<uint32_t> ticket{0}; ///< changes with every job: idle workers sleep on it
  std::atomic<uint32_t> gate{0};   ///< of the job; its caller sleeps on it
  std::atomic<int> sleepers{0};    ///< workers that sleep, or are about to
  const Job *present = nullptr;    ///< read by those that are inside
  Patience patience;               ///< of callers
  std::vector<std::thread> workers;
};

} // namespace accum::runtime
#endif
