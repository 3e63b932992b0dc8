// SPDX-License-Identifier: Apache-2.0
// For tests: uninitialised memory is filled with NaN, so that a premature read shows in the results.
#ifndef ACCUM_RUNTIME_HOST_POISON_H
#define ACCUM_RUNTIME_HOST_POISON_H

#include "runtime/accum_operands.h"
#include "runtime/artifact/Artifact.h"
#include <optional>

namespace accum::runtime {

/// With ACCUM_POISON=1 in the environment a host fills what a command overwrites before it runs: every result
/// of a kernel but those that are added to or lie in an operand's place, C of a product with beta = 0, what
/// an attention writes. Every byte is 0xff: NaN in any float, -1 in an integer.
class Poison {
public:
  /// Nothing where the environment does not ask for it.
  static std::optional<Poison> asked(const Artifact &artifact);

  /// What the last step left: the scratch behind the state, and gradients; `arena` holds both.
  void beforeStep(uint8_t *arena, bool evaluates) const;
  void beforeLaunch(uint32_t kernel, uint32_t count, void *const *args) const;
  static void beforeGemm(const accum_gemm &call, float beta);
  static void beforeAttention(const accum_attention &call);

private:
  void poisonSharded(const Manifest &manifest);
  uint64_t stateBytes = 0, scratchBytes = 0;
  std::vector<std::pair<uint64_t, uint64_t>> gradients; ///< offset, bytes
  const accum_operand *const *operands = nullptr;       ///< null where kernels.so does not tell
};

} // namespace accum::runtime
#endif
