// SPDX-License-Identifier: Apache-2.0
#include "runtime/system/Fork.h"
#include <atomic>
#include <pthread.h>

namespace accum::runtime {
namespace {

std::atomic<bool> orphan{false};

} // namespace

void expectThreads() {
  static int once = pthread_atfork(nullptr, nullptr, [] { orphan = true; });
  (void)once;
}

bool isOrphan() { return orphan; }

} // namespace accum::runtime
