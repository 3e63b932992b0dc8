// SPDX-License-Identifier: Apache-2.0
// Hyper-parameters of a run: what its options come to, and what a step's accum_hyper holds for them.
#ifndef ACCUM_RUNTIME_SESSION_HYPER_H
#define ACCUM_RUNTIME_SESSION_HYPER_H

#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Optimizers.h"

namespace accum::runtime {

/// Unset fields take the optimizer's default, of its row in Optimizers.cpp; weight decay is 0 unless given.
struct HyperOptions {
  std::optional<double> lr, weightDecay, beta1, beta2, eps, momentum;
  std::optional<double> clipNorm;   ///< the global norm of the gradients is at most this
  std::optional<double> skipSpikes; ///< standard deviations from which on a step is left out
  std::vector<std::string> decay;   ///< "all", "matrices" and globs over parameter names; none: matrices
  std::vector<RateRule> rates;      ///< factors of the learning rate

  const std::optional<double> &given(HyperName name) const;
};

/// What the options come to for one optimizer.
struct Hyper {
  const OptimizerSpec *optimizer = nullptr;
  double lr = 1e-3;
  double clipNorm = 0, skipSpikes = 0;    ///< 0: not asked for
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
