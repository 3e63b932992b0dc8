// SPDX-License-Identifier: Apache-2.0
// Hyper-parameters of a run: what its options come to, and what a step's accum_hyper holds for them.
#ifndef ACCUM_RUNTIME_SESSION_HYPER_H
#define ACCUM_RUNTIME_SESSION_HYPER_H

#include "runtime/artifact/Groups.h"
#include "runtime/options/RunOptions.h"

namespace accum::runtime {

/// What the options come to for one optimizer.
struct Hyper {
  const OptimizerSpec *optimizer = nullptr;
  double lr = 1e-3;
  HyperOptions settled;                   ///< with the defaults of what was not given and has one
  double clipNorm = 0, skipSpikes = 0;    ///< 0: not asked for
  double ema = 0;                         ///< 0: no average is kept
  double presets[ACCUM_HYPER_COUNT] = {}; ///< entries that do not change from update to update
  Coefficients coefficients;

  /// Refuses (exit 2) an option that this optimizer does not have, and values outside their range.
  static Status check(const OptimizerSpec &optimizer, const HyperOptions &options);
  static Expected<Hyper> make(const Manifest &manifest, const HyperOptions &options);

  /// Fills `values` for the update number `t`, counted from 1, with `factor` times the learning rate.
  void fill(uint64_t t, double factor, double values[ACCUM_HYPER_COUNT]) const;
  /// What gradients of this global norm are multiplied by: PyTorch's clip_grad_norm_, with its 1e-6.
  double clipFactor(double norm) const;
};

} // namespace accum::runtime
#endif
