// SPDX-License-Identifier: Apache-2.0
// Sleeping until a number in this process's memory changes: futex(2).
#ifndef ACCUM_RUNTIME_SYSTEM_FUTEX_H
#define ACCUM_RUNTIME_SYSTEM_FUTEX_H

#include <atomic>
#include <cstdint>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace accum::runtime {

/// Sleeps while `word` is `seen`, until it is woken. It may return early: the caller looks again.
inline void sleepWhile(const std::atomic<uint32_t> &word, uint32_t seen) {
  static_assert(sizeof word == sizeof(uint32_t), "the kernel compares four bytes");
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

/// Wakes up to `count` threads that sleep on `word`.
inline void wake(const std::atomic<uint32_t> &word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

} // namespace accum::runtime
#endif
