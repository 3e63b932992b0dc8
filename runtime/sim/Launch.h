// SPDX-License-Identifier: Apache-2.0
// One launch: what its threads may touch, and the first thing that one of them did wrong.
#ifndef ACCUM_RUNTIME_SIM_LAUNCH_H
#define ACCUM_RUNTIME_SIM_LAUNCH_H

#include "runtime/sim/SimMemory.h"
#include "runtime/sim/accum_sim.h"
#include "runtime/system/Status.h"
#include <atomic>
#include <mutex>

namespace accum::runtime::sim {

enum class Wrong {
  Outside,         ///< of every operand
  ReadOnly,        ///< a write to what the command only reads
  Unwritten,       ///< a read of what nobody wrote
  LeftUnwritten,   ///< a result, after the last thread
  BetweenRows,     ///< of what belongs to nobody
  Misaligned,      ///< not on a multiple of what a thread moves at once
  SharedOutside,   ///< of the block's shared memory
  SharedUnwritten, ///< a read of shared memory that nobody wrote
  SharedRace,
  SharedPending,    ///< before the end of a copy
  ShuffleDivergent, ///< lanes of a warp are elsewhere
  MatrixDivergent,
  BarrierDivergent, ///< threads of a block are elsewhere
  NoStack
};

/// Plain data: it is filled in on a small stack.
struct Violation {
  Wrong what = Wrong::Outside;
  uint32_t block = 0, thread = 0, other = 0, site = 0;
  const void *address = nullptr;
  uint64_t bytes = 0;
  uint32_t operand = ACCUM_SIM_ANY;
  bool writes = false;
};

class Launch {
public:
  Launch(const accum_sim_kernel &kernel, void *const *args, SimMemory &written)
      : kernel(kernel), args(args), written(written) {}

  /// Results start as nobody's: all of them is to be written.
  void begin();
  /// After all threads.
  void end();

  /// Whether a thread may read or write there, through the pointer of `operand`. Remembers what it writes.
  bool allows(const void *address, uint64_t bytes, uint32_t operand, bool writes, Wrong &wrong);
  void fail(const Violation &violation);
  bool failed() const { return broken.load(std::memory_order_relaxed); }
  Status status() const;

  const accum_sim_kernel &kernel;
  void *const *const args;

private:
  bool overwrites(uint32_t result) const;
  bool holds(uint32_t operand, const void *address, uint64_t bytes) const;
  bool isInRow(uint32_t operand, const void *address, uint64_t bytes) const;
  uint64_t firstLeftUnwritten(uint32_t result) const;
  std::string describe(const void *address, uint32_t operand) const;
  std::string sentence() const;

  SimMemory &written;
  std::atomic<bool> broken = false;
  std::mutex mutex;
  Violation first;
};

} // namespace accum::runtime::sim
#endif
