// SPDX-License-Identifier: Apache-2.0
// Looks at the gradients of a step before they are used: their norm, whether all is finite, spikes, clipping.
#ifndef ACCUM_RUNTIME_SESSION_GRADIENTGUARD_H
#define ACCUM_RUNTIME_SESSION_GRADIENTGUARD_H

#include "runtime/device/Opened.h"
#include "runtime/session/Hyper.h"
#include "runtime/session/SpikeDetector.h"

namespace accum::runtime {

/// The same on all ranks, as the loss and the gradients are.
class GradientGuard {
public:
  /// Which outlives it.
  explicit GradientGuard(Opened &opened) : opened(opened) {}

  /// Nothing is known of the step yet.
  void beginStep();
  /// A range of the gradients.
  Status add(const void *data, uint64_t n, DType dtype);
  /// Of the loss and of all gradients, which ranks hold in parts or each as a whole.
  Expected<bool> isFinite(bool inParts);
  /// Whether the step is left out; counts its loss and norm.
  Expected<bool> isSpike(double deviations);
  /// Over all gradients of the step; NaN where none was seen.
  double norm() const;

  const std::deque<double> &losses() const { return lossSpikes.values(); }
  const std::deque<double> &norms() const { return normSpikes.values(); }
  /// As of a run that this one goes on from.
  void restore(const std::deque<double> &losses, const std::deque<double> &norms);

private:
  Opened &opened;
  double squaredNorm = 0;
  bool sawGradients = false;
  SpikeDetector lossSpikes, normSpikes; ///< of the steps so far
};

} // namespace accum::runtime
#endif
