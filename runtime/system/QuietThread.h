// SPDX-License-Identifier: Apache-2.0
// Background threads, with signals blocked: the training thread takes those.
#ifndef ACCUM_RUNTIME_SYSTEM_QUIETTHREAD_H
#define ACCUM_RUNTIME_SYSTEM_QUIETTHREAD_H

#include "runtime/system/Fork.h"
#include <csignal>
#include <thread>
#include <utility>

namespace accum::runtime {

/// `body` on a thread of its own, which takes no signals.
template <typename Body> std::thread startQuietThread(Body &&body) {
  expectThreads();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::forward<Body>(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

} // namespace accum::runtime
#endif
