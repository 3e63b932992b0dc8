// SPDX-License-Identifier: Apache-2.0
// Signals that wait until a step is over.
#pragma once

#include <csignal>

namespace accum::python {

/// While one lives, signals to this thread wait: a handler of Python's would run on the stack that a library
/// of products computes on (accum_runtime.h, accum_step). Ctrl-C so takes effect behind the step. Signals
/// that tell of this thread's own faults do not wait.
class SignalsLater {
public:
  SignalsLater();
  ~SignalsLater();
  SignalsLater(const SignalsLater &) = delete;
  SignalsLater &operator=(const SignalsLater &) = delete;

private:
  sigset_t before = {};
};

} // namespace accum::python
