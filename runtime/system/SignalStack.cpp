// SPDX-License-Identifier: Apache-2.0
// sigaltstack, once a thread, and SA_ONSTACK.
#include "runtime/system/SignalStack.h"
#include <csignal>
#include <memory>

namespace accum::runtime {
namespace {

/// Room for a frame with all vector and matrix registers (11 KiB), and for the handler.
constexpr size_t kBytes = 64 << 10;

class SignalStack {
public:
  SignalStack() {
    stack_t present = {};
    if (sigaltstack(nullptr, &present) != 0 || !(present.ss_flags & SS_DISABLE))
      return; // the host program's
    memory = std::make_unique<char[]>(kBytes);
    stack_t stack = {};
    stack.ss_sp = memory.get();
    stack.ss_size = kBytes;
    sigaltstack(&stack, nullptr);
  }
  ~SignalStack() {
    if (!memory)
      return;
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
  SignalStack(const SignalStack &) = delete;
  SignalStack &operator=(const SignalStack &) = delete;

private:
  std::unique_ptr<char[]> memory;
};

} // namespace

void needSignalStack() { thread_local SignalStack stack; }

void handleOnOwnStack(int number, void (*handler)(int), int flags) {
  needSignalStack();
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags | SA_ONSTACK;
  sigaction(number, &action, nullptr);
}

} // namespace accum::runtime
