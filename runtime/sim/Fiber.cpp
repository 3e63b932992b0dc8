// SPDX-License-Identifier: Apache-2.0
// The switch: callee-saved registers on the one stack, and off the other. swapcontext would do, but asks the
// kernel for the signal mask each time, which takes a hundred times as long.
#include "runtime/sim/Fiber.h"
#include <sys/mman.h>
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif

#if !defined(__x86_64__)
#error "the simulator's fibers are written for x86-64, as is the host's code generator"
#endif

// accum_fiber_switch(void **save, void *load): saves this side's stack pointer and continues on the other.
asm(R"(
    .text
    .type accum_fiber_switch, @function
accum_fiber_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size accum_fiber_switch, .-accum_fiber_switch
    .type accum_fiber_enter, @function
accum_fiber_enter:
    movq %r12, %rdi
    callq *%r13
    ud2
    .size accum_fiber_enter, .-accum_fiber_enter
)");

extern "C" {
void accum_fiber_switch(void **save, void *load);
void accum_fiber_enter();
}

namespace accum::runtime::sim {

#if __has_feature(address_sanitizer)
// Which stack is in use; and that a stack whose fiber was forgotten has no frames any more.
static void leave(void **frames, const void *stack, size_t bytes) {
  __sanitizer_start_switch_fiber(frames, stack, bytes);
}
static void arrive(void *frames, const void **from, size_t *bytes) {
  __sanitizer_finish_switch_fiber(frames, from, bytes);
}
static void empty(void *stack, size_t bytes) { __asan_unpoison_memory_region(stack, bytes); }
#else
static void leave(void **, const void *, size_t) {}
static void arrive(void *, const void **, size_t *) {}
static void empty(void *, size_t) {}
#endif

Fiber::~Fiber() {
  if (stack)
    munmap(stack, kStackBytes);
}

bool Fiber::start(Function body, void *data) {
  if (!stack) {
    stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED) {
      stack = nullptr;
      return false;
    }
  }
  empty(stack, kStackBytes);
  sanitizer = {};
  function = body;
  argument = data;
  finished = false;
  // What the switch pops: r15, r14, r13, r12, rbx, rbp, and where it returns to. The stack is 16-byte aligned
  // before the call in accum_fiber_enter, as the calling convention wants it.
  void **top = reinterpret_cast<void **>(static_cast<char *>(stack) + kStackBytes) - 2;
  *--top = reinterpret_cast<void *>(accum_fiber_enter);
  *--top = nullptr;                                 // rbp
  *--top = nullptr;                                 // rbx
  *--top = this;                                    // r12
  *--top = reinterpret_cast<void *>(&Fiber::enter); // r13
  *--top = nullptr;                                 // r14
  *--top = nullptr;                                 // r15
  inside = top;
  return true;
}

void Fiber::enter(Fiber *self) {
  arrive(nullptr, &self->sanitizer.outsideStack, &self->sanitizer.outsideBytes);
  self->function(self->argument);
  self->finished = true;
  self->yield();
}

bool Fiber::resume() {
  void *frames = nullptr;
  leave(&frames, stack, kStackBytes);
  accum_fiber_switch(&outside, inside);
  arrive(frames, nullptr, nullptr);
  return finished;
}

void Fiber::yield() {
  // A finished fiber gives its frames back.
  leave(finished ? nullptr : &sanitizer.insideFrames, sanitizer.outsideStack, sanitizer.outsideBytes);
  accum_fiber_switch(&inside, outside);
  arrive(sanitizer.insideFrames, &sanitizer.outsideStack, &sanitizer.outsideBytes);
}

} // namespace accum::runtime::sim
