// SPDX-License-Identifier: Apache-2.0
// The kernels of an artifact for a GPU, executed and checked on this machine.
#ifndef ACCUM_RUNTIME_SIM_SIMKERNELS_H
#define ACCUM_RUNTIME_SIM_SIMKERNELS_H

#include "runtime/sim/SimMemory.h"
#include "runtime/sim/accum_sim.h"
#include "runtime/system/Status.h"
#include <memory>

namespace accum::runtime::sim {

/// Runs every thread of a launch as a fiber, blocks in parallel, and checks what it does:
///  - each access lies in an operand of the command, and only results are written;
///  - nothing is read that nobody wrote, and all of a result is written;
///  - all threads of a warp meet at a shuffle, all of a block at a barrier;
///  - between two barriers no thread touches shared memory that another one writes.
class SimKernels {
public:
  /// Loads kernels.sim.so, for as long as the process lives. Errors: no such table, another version.
  static Expected<std::unique_ptr<SimKernels>> load(const std::string &path);

  /// What has been written; the owner tells what happens outside of kernels.
  SimMemory &memory() { return written; }
  uint32_t count() const { return table->count; }
  const accum_sim_kernel &kernel(uint32_t number) const { return table->kernels[number]; }

  /// Runs kernel `number`; `args` has a pointer per operand. The error says what a thread did wrong, [sim].
  Status launch(uint32_t number, void *const *args);

private:
  explicit SimKernels(const accum_sim_v1 *table) : table(table) {}

  const accum_sim_v1 *table;
  SimMemory written;
};

} // namespace accum::runtime::sim
#endif
