// SPDX-License-Identifier: Apache-2.0
// Alternate stacks for signal handlers.
#ifndef ACCUM_RUNTIME_SYSTEM_SIGNALSTACK_H
#define ACCUM_RUNTIME_SYSTEM_SIGNALSTACK_H

namespace accum::runtime {

/// Gives the calling thread a stack for handlers that ask for one, unless it has one already, until it ends.
///
/// oneDNN's sgemm keeps values below the stack pointer, beyond the 128 bytes that the x86-64 ABI protects. A
/// handler on the same stack overwrites them: seen as a corrupted heap and as wrong products (oneDNN 2.6).
void needSignalStack();

/// Installs `handler` for a signal, with `flags` as in sigaction(2), so that it runs on a stack of its own:
/// in the calling thread, which gets one, and in the threads of the pool, which have one.
void handleOnOwnStack(int number, void (*handler)(int), int flags = 0);

} // namespace accum::runtime
#endif
