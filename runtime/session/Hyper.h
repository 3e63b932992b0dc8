// SPDX-License-Identifier: Apache-2.0
// Hyper-parameters of a run: PyTorch's defaults, and what a step's accum_hyper holds for them.
#ifndef ACCUM_RUNTIME_SESSION_HYPER_H
#define ACCUM_RUNTIME_SESSION_HYPER_H

#include "runtime/artifact/Manifest.h"

namespace accum::runtime {

/// Unset fields take the optimizer's default.
struct HyperOptions {
  std::optional<double> lr, weightDecay, beta1, beta2, eps, momentum;
  std::optional<double> clipNorm;   ///< the global norm of the gradients is at most this
  std::optional<double> skipSpikes; ///< standard deviations from which on a step is left out
  std::string decay;                ///< "", "all", "matrices", or a glob over parameter names; "" is matrices
};

/// What the options come to for one optimizer. Defaults are PyTorch's: lr 1e-3, betas 0.9 and 0.999, eps
/// 1e-8, and momentum 0.9 for sgd-momentum, whose name asks for one; weight decay is 0 unless given.
struct Hyper {
  std::string optimizer;
  double lr = 1e-3, beta1 = 0, beta2 = 0, eps = 0;
  double clipNorm = 0, skipSpikes = 0; ///< 0: not asked for
  std::vector<double> decay;           ///< per trained parameter, in manifest order

  /// Refuses (exit 2) an option that this optimizer does not have, and values outside their range.
  static Expected<Hyper> make(const Manifest &manifest, const HyperOptions &options);

  /// Fills `values` for the update number `t`, counted from 1, with `factor` times the learning rate.
  void fill(uint64_t t, double factor, double values[ACCUM_HYPER_COUNT]) const;
  /// What gradients of this global norm are multiplied by: PyTorch's clip_grad_norm_, with its 1e-6.
  double clipFactor(double norm) const;
};

/// Names with * and ? (fnmatch).
bool matchesGlob(const std::string &glob, const std::string &name);

} // namespace accum::runtime
#endif
