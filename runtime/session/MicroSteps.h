// SPDX-License-Identifier: Apache-2.0
// The micro-steps that this rank has in a step, and how they are cut.
#ifndef ACCUM_RUNTIME_SESSION_MICROSTEPS_H
#define ACCUM_RUNTIME_SESSION_MICROSTEPS_H

#include "runtime/data/Feed.h"
#include "runtime/device/Opened.h"

namespace accum::runtime {

/// How steps are cut; see accum_set_cut.
struct StepCut {
  int64_t rows = 0, samples = 0, only = -1;
  bool reversed = false;
  bool longest = false; ///< every sample at the largest size
};

class MicroSteps {
public:
  /// Which outlives it.
  explicit MicroSteps(Opened &opened) : opened(opened) {}

  Status setCut(const StepCut &value);
  const StepCut &cut() const { return chosen; }
  /// Of a window whose share, of one length, is this: then nothing is allocated.
  void divide(const Feed &of, const Window &window, const Share &share, int64_t rows = 0);
  /// Where each rank knows the lengths of its own samples alone, and all need as many micro-steps of each.
  Status divideOwn(const Feed &of, const Window &window, const Share &share);
  /// Of the latest of these.
  const Division &division() const { return *divided; }

  /// Rows of a phase. Order and choice of micro-steps are about gradients: totals are of all samples.
  Share shareIn(uint32_t phase) const;
  uint32_t stepsIn(uint32_t phase) const;
  /// Of a micro-step among those of all lengths. The one that ends with the step is the last, whichever
  /// length it has.
  uint32_t numberOf(uint32_t phase, uint32_t k) const;
  MicroStep at(uint32_t phase, uint32_t k) const;
  /// Loops run over the same rows, one after the other.
  std::optional<MicroStep> after(uint32_t phase, uint32_t k) const;

private:
  Opened &opened;
  StepCut chosen;
  std::optional<Division> divided;
};

} // namespace accum::runtime
#endif
