// SPDX-License-Identifier: Apache-2.0
// sigaltstack, once, and SA_ONSTACK.
#include "runtime/SignalStack.h"
#include <csignal>

namespace accum::runtime {

void handleOnOwnStack(int number, void (*handler)(int), int flags) {
  // Room for a frame with all vector and matrix registers (11 KiB), and for the handler.
  alignas(64) static char memory[256 << 10];
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = sizeof memory;
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags | SA_ONSTACK;
  sigaction(number, &action, nullptr);
}

} // namespace accum::runtime
