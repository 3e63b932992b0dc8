// SPDX-License-Identifier: Apache-2.0
// The process's one thread pool: libgomp's, which oneDNN uses too.
#ifndef ACCUM_RUNTIME_SYSTEM_THREADPOOL_H
#define ACCUM_RUNTIME_SYSTEM_THREADPOOL_H

#include <cstdint>
#include <type_traits>

namespace accum::runtime {

/// The library keeps a record of each thread on the caller's stack, which many thousands overflow.
constexpr int kMostThreads = 1024;

/// Threads for everything from here on, oneDNN included; 0: OMP_NUM_THREADS, or the processors that this
/// process may use. Never more than `kMostThreads`. Starts them, each with a stack for signal handlers.
/// Returns the number.
int setThreads(int threads);
int threadCount();

/// fn(data, begin, end) over [0, n) cut into `chunks` pieces of equal size up to one. Pieces are handed to
/// whichever thread is free; what a piece computes does not depend on it. Inside another parallelFor it runs
/// serially.
void parallelFor(void (*fn)(void *, int64_t, int64_t), void *data, int64_t n, int64_t chunks);

/// The same for a callable.
template <typename Body> void parallelFor(int64_t n, int64_t chunks, Body &&body) {
  parallelFor([](void *data, int64_t begin,
                 int64_t end) { (*static_cast<std::remove_reference_t<Body> *>(data))(begin, end); },
              &body, n, chunks);
}

} // namespace accum::runtime
#endif
