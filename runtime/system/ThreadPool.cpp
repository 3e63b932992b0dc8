// SPDX-License-Identifier: Apache-2.0
// Calls libgomp's entry point directly: a clang build of `#pragma omp parallel` against libgomp runs one
// thread.
#include "runtime/system/ThreadPool.h"
#include "runtime/ranks/ProgressCounter.h"
#include "runtime/system/Fork.h"
#include "runtime/system/SignalStack.h"
#include <algorithm>
#include <atomic>

extern "C" {
void GOMP_parallel(void (*fn)(void *), void *data, unsigned threads, unsigned flags);
void omp_set_num_threads(int threads);
int omp_get_max_threads(void);
int omp_in_parallel(void);
}

namespace accum::runtime {
namespace {

struct Work {
  void (*fn)(void *, int64_t, int64_t);
  void *data;
  int64_t n, chunks;
  std::atomic<int64_t> next{0};

  void runChunk(int64_t chunk) {
    int64_t size = n / chunks, longer = n % chunks;
    int64_t begin = chunk * size + std::min(chunk, longer);
    int64_t end = begin + size + (chunk < longer);
    if (begin < end)
      fn(data, begin, end);
    countProgress();
  }

  static void runThread(void *self) {
    Work &work = *static_cast<Work *>(self);
    for (int64_t chunk; (chunk = work.next.fetch_add(1, std::memory_order_relaxed)) < work.chunks;)
      work.runChunk(chunk);
  }
};

/// A piece is one thread's work also for a library inside it that would start threads of its own.
void runSerially(Work &work) {
  int threads = omp_in_parallel() ? 1 : omp_get_max_threads();
  if (threads > 1)
    omp_set_num_threads(1);
  Work::runThread(&work);
  if (threads > 1)
    omp_set_num_threads(threads);
}

} // namespace

int setThreads(int threads) {
  if (threads <= 0)
    threads = threadCount();
  omp_set_num_threads(std::min(threads, kMostThreads));
  // The pool's threads stay: they get their stacks for signals before the library multiplies in them.
  if (threadCount() > 1 && !omp_in_parallel()) {
    expectThreads();
    GOMP_parallel([](void *) { needSignalStack(); }, nullptr, unsigned(threadCount()), 0);
  }
  return threadCount();
}

int threadCount() { return omp_get_max_threads(); }

void parallelFor(void (*fn)(void *, int64_t, int64_t), void *data, int64_t n, int64_t chunks) {
  chunks = std::clamp<int64_t>(chunks, 1, std::max<int64_t>(n, 1));
  Work work{fn, data, n, chunks};
  int64_t threads = omp_in_parallel() ? 1 : std::min<int64_t>(threadCount(), chunks);
  if (threads > 1)
    GOMP_parallel(Work::runThread, &work, unsigned(threads), 0);
  else
    runSerially(work);
}

} // namespace accum::runtime
