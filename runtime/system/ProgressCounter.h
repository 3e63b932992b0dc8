// SPDX-License-Identifier: Apache-2.0
// A counter that moves whenever this process gets something done. Other ranks watch it: a rank that waits for
// one whose counter stands still knows which one has stalled.
#ifndef ACCUM_RUNTIME_SYSTEM_PROGRESSCOUNTER_H
#define ACCUM_RUNTIME_SYSTEM_PROGRESSCOUNTER_H

#include <atomic>
#include <cstdint>

namespace accum::runtime {

/// Where the counter lies: in this process until a communicator hands out a place that others can see, which
/// happens while threads count.
inline std::atomic<uint64_t> ownProgressCounter{0};
inline std::atomic<std::atomic<uint64_t> *> progressCounter{&ownProgressCounter};

inline void countProgress() { progressCounter.load()->fetch_add(1, std::memory_order_relaxed); }

} // namespace accum::runtime
#endif
