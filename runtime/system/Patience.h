// SPDX-License-Identifier: Apache-2.0
// How long a thread looks for a change before it sleeps.
#ifndef ACCUM_RUNTIME_SYSTEM_PATIENCE_H
#define ACCUM_RUNTIME_SYSTEM_PATIENCE_H

#include <algorithm>
#include <cstdint>
#include <x86intrin.h>

namespace accum::runtime {

/// A thread that spins answers within nanoseconds, one that sleeps within some 50 microseconds. On a core
/// that others want, spinning takes the time of the thread that is waited for. The kernel does not tell, but
/// a gap between two looks does: something else had the core. So patience is cut at every gap, and comes back
/// slowly.
class Patience {
public:
  /// Ticks of the processor's clock, of which a microsecond has two to four thousand.
  static constexpr uint64_t kMost = 600'000; ///< between the commands of a step, and from step to step
  static constexpr uint64_t kGap = 200'000; ///< more than an interrupt takes, less than a turn of a scheduler
  static constexpr uint64_t kCut = 8;       ///< times less after a gap
  static constexpr uint64_t kRegained = kMost / 2048; ///< by a wait without a gap

  /// Looks until `isDone` or its patience ends; whether it is done.
  template <typename Done, typename Clock = uint64_t (*)()>
  bool spin(Done isDone, Clock clock = &Patience::ticks) {
    uint64_t began = clock(), last = began;
    for (;;) {
      for (int look = 0; look < kLooks; ++look) {
        if (isDone()) {
          limit = std::min(kMost, limit + kRegained);
          return true;
        }
        _mm_pause();
      }
      uint64_t at = clock();
      if (at - last > kGap) {
        limit /= kCut;
        return isDone();
      }
      if (at - began >= limit) {
        limit = std::min(kMost, limit + kRegained);
        return isDone();
      }
      last = at;
    }
  }

  uint64_t left() const { return limit; }

private:
  static constexpr int kLooks = 16;
  static uint64_t ticks() { return __rdtsc(); }
  uint64_t limit = kMost;
};

} // namespace accum::runtime
#endif
