// SPDX-License-Identifier: Apache-2.0
// Pieces in order of their numbers, each to the next thread that asks.
#include "runtime/system/ThreadPool.h"
#include "runtime/system/Processors.h"
#include "runtime/system/ProgressCounter.h"
#include "runtime/system/SignalStack.h"
#include "runtime/system/Workers.h"
#include <algorithm>
#include <exception>

namespace accum::runtime {
namespace {

/// Never destroyed: threads wait in it until the process ends.
Workers &pool() {
  static auto *workers = new Workers;
  return *workers;
}

std::atomic<int (*)()> libraryGet{nullptr};
std::atomic<void (*)(int)> librarySet{nullptr};

thread_local bool isInPiece = false;

/// A thread's time in pieces.
class InPieces {
public:
  InPieces() : wasInside(isInPiece) {
    isInPiece = true;
    set = librarySet.load(std::memory_order_acquire);
    if (set && !wasInside)
      threads = libraryGet.load(std::memory_order_relaxed)();
    if (threads > 1)
      set(1);
  }
  ~InPieces() {
    isInPiece = wasInside;
    if (threads > 1)
      set(threads);
  }
  InPieces(const InPieces &) = delete;
  InPieces &operator=(const InPieces &) = delete;

private:
  bool wasInside;
  int threads = 1;
  void (*set)(int);
};

struct Work {
  void (*fn)(void *, int64_t, int64_t);
  void *data;
  int64_t n, chunks;
  std::atomic<int64_t> next{0};
  std::atomic<bool> fails{false};
  std::exception_ptr failure = {};

  void runChunk(int64_t chunk) {
    int64_t size = n / chunks, longer = n % chunks;
    int64_t begin = chunk * size + std::min(chunk, longer);
    int64_t end = begin + size + (chunk < longer);
    if (begin < end)
      fn(data, begin, end);
    countProgress();
  }

  void runChunks() {
    InPieces inside;
    try {
      for (int64_t chunk; (chunk = next.fetch_add(1, std::memory_order_relaxed)) < chunks;)
        runChunk(chunk);
    } catch (...) {
      if (!fails.exchange(true))
        failure = std::current_exception();
      next = chunks;
    }
  }

  static void runThread(void *self) { static_cast<Work *>(self)->runChunks(); }
};

} // namespace

int setThreads(int threads) {
  needSignalStack();
  pool().resize(std::min(threads > 0 ? threads : defaultThreads(), kMostThreads));
  return threadCount();
}

int threadCount() { return pool().threads(); }

void parallelFor(void (*fn)(void *, int64_t, int64_t), void *data, int64_t n, int64_t chunks) {
  chunks = std::clamp<int64_t>(chunks, 1, std::max<int64_t>(n, 1));
  Work work{fn, data, n, chunks};
  int64_t threads = isInPiece ? 1 : std::min<int64_t>(threadCount(), chunks);
  if (threads <= 1 || !pool().run({Work::runThread, &work}, threads))
    work.runChunks();
  if (work.failure)
    std::rethrow_exception(work.failure);
}

void keepLibrarySingle(LibraryThreads functions) {
  libraryGet.store(functions.get, std::memory_order_relaxed);
  librarySet.store(functions.set, std::memory_order_release);
}

} // namespace accum::runtime
