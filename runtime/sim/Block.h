// SPDX-License-Identifier: Apache-2.0
// The threads of one block, taking turns.
#ifndef ACCUM_RUNTIME_SIM_BLOCK_H
#define ACCUM_RUNTIME_SIM_BLOCK_H

#include "runtime/sim/Fiber.h"
#include "runtime/sim/Launch.h"
#include "runtime/sim/SharedMemory.h"

namespace accum::runtime::sim {

class Block {
public:
  static constexpr uint32_t kWarp = 32;

  /// Runs block `number` of a launch to its end, or to the first thing that is wrong.
  void run(Launch &launch, uint32_t number);

  /// What kernels call; on the stack of a thread.
  static const accum_sim_hooks *hooks();

private:
  enum class State { Ready, AtShuffle, AtMatrix, AtBarrier, Ended };
  struct Copy {
    void *to;
    const void *from;
    uint32_t bytes, present;
  };
  struct Thread {
    Fiber fiber;
    Block *block = nullptr;
    uint32_t number = 0;
    State state = State::Ready;
    uint32_t site = 0, mask = 0, value = 0, distance = 0;
    uint32_t kind = 0;         ///< accum_sim_matrix
    uint32_t *words = nullptr; ///< of it, on the thread's stack
    std::vector<Copy> copies;  ///< that have not ended
  };

  static uint32_t special(uint32_t which);
  static void load(const void *address, uint64_t bytes, uint32_t operand, uint32_t alignment);
  static void store(void *address, uint64_t bytes, uint32_t operand, uint32_t alignment);
  static uint8_t *shared();
  static void barrier(uint32_t site);
  static uint32_t exchange(uint32_t mask, uint32_t value, uint32_t distance, uint32_t site);
  static void matrix(uint32_t kind, uint32_t *words, uint32_t site);
  static void startCopy(void *to, const void *from, uint32_t bytes, uint32_t present, uint32_t operand);
  static void finishCopies();
  static void enter(void *thread);

  bool startThreads();
  /// Until no thread of the warp can go on alone.
  void runWarp(uint32_t first);
  void resume(Thread &thread);
  /// What the lanes of a warp wait for together; false where none waits, or not all lanes are there.
  bool meetWarp(uint32_t first);
  bool isWith(const Thread &waits, const Thread &thread) const;
  void exchangeWarp(uint32_t first, const Thread &waits);
  void multiplyWarp(uint32_t first, const Thread &waits);
  bool passBarrier();
  void access(const void *address, uint64_t bytes, uint32_t operand, uint32_t alignment, bool writes);
  /// What `finding` says of an access to shared memory.
  void judge(SharedMemory::Finding finding, const void *address, uint64_t bytes, bool writes);
  /// Records what the running thread, or `thread`, did wrong.
  void fail(Violation violation, const Thread &thread);
  /// Leaves the running thread for good.
  void stop();

  Launch *launch = nullptr;
  uint32_t number = 0, count = 0;
  SharedMemory sharedMemory;
  std::vector<Thread> threads;
  Thread *running = nullptr;
};

} // namespace accum::runtime::sim
#endif
