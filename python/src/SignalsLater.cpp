// SPDX-License-Identifier: Apache-2.0
// Threads that are started meanwhile inherit the mask: signals reach none of them.
#include "python/src/SignalsLater.h"
#include <initializer_list>

namespace accum::python {

SignalsLater::SignalsLater() {
  sigset_t waiting;
  sigfillset(&waiting);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
    sigdelset(&waiting, fault);
  pthread_sigmask(SIG_BLOCK, &waiting, &before);
}

SignalsLater::~SignalsLater() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

} // namespace accum::python
