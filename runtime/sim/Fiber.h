// SPDX-License-Identifier: Apache-2.0
// Fibers: stacks that take turns on one processor thread, one for each simulated GPU thread.
#ifndef ACCUM_RUNTIME_SIM_FIBER_H
#define ACCUM_RUNTIME_SIM_FIBER_H

#include <cstddef>
#include <cstdint>
#include <utility>

namespace accum::runtime::sim {

/// `start` makes a fiber, `resume` runs it until it calls `yield` or its function returns. A fiber that is
/// not resumed again is simply forgotten: nothing on its stack is destroyed.
class Fiber {
public:
  using Function = void (*)(void *);

  Fiber() = default;
  ~Fiber();
  Fiber(Fiber &&other) noexcept { std::swap(stack, other.stack); }
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  /// False where there is no memory for a stack.
  bool start(Function function, void *argument);
  /// Runs on the fiber's stack; true when its function has returned.
  bool resume();
  /// On the fiber's stack: back behind resume.
  void yield();

private:
  static constexpr size_t kStackBytes = 64 << 10;
  static void enter(Fiber *self);

  void *stack = nullptr;
  void *inside = nullptr; ///< stack pointers of the side that waits
  void *outside = nullptr;
  /// What the address sanitizer wants told at every switch; unused without it.
  struct {
    void *insideFrames = nullptr;
    const void *outsideStack = nullptr;
    size_t outsideBytes = 0;
  } sanitizer;
  Function function = nullptr;
  void *argument = nullptr;
  bool finished = false;
};

} // namespace accum::runtime::sim
#endif
