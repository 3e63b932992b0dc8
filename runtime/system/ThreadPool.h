// SPDX-License-Identifier: Apache-2.0
// The process's one thread pool. Libraries that are called in a piece start no threads of their own.
#ifndef ACCUM_RUNTIME_SYSTEM_THREADPOOL_H
#define ACCUM_RUNTIME_SYSTEM_THREADPOOL_H

#include <cstdint>
#include <type_traits>

namespace accum::runtime {

constexpr int kMostThreads = 1024;

/// Threads for everything from here on; 0: as `defaultThreads` (Processors.h) says. Never more than
/// `kMostThreads`, nor than the system starts. Starts them, each with a stack for signal handlers. Returns
/// the number.
int setThreads(int threads);
int threadCount(); ///< 1 before setThreads

/// fn(data, begin, end) over [0, n) cut into `chunks` pieces of equal size up to one. Pieces are handed to
/// whichever thread is free; what a piece computes does not depend on it. Inside another parallelFor it runs
/// serially, as it does while another thread has the pool. The first exception of a piece is thrown on when
/// no thread is in another; pieces that no thread had begun are left out.
void parallelFor(void (*fn)(void *, int64_t, int64_t), void *data, int64_t n, int64_t chunks);

/// The same for a callable.
template <typename Body> void parallelFor(int64_t n, int64_t chunks, Body &&body) {
  parallelFor([](void *data, int64_t begin,
                 int64_t end) { (*static_cast<std::remove_reference_t<Body> *>(data))(begin, end); },
              &body, n, chunks);
}

/// A library's own threads, by the two functions of the OpenMP runtime that it uses: in pieces it has one,
/// and afterwards the calling thread's number is what it was.
struct LibraryThreads {
  int (*get)();
  void (*set)(int);
};
void keepLibrarySingle(LibraryThreads functions);

} // namespace accum::runtime
#endif
