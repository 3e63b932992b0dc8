// SPDX-License-Identifier: Apache-2.0
// Ranges, and which options an optimizer has.
#include "runtime/session/Hyper.h"
#include <algorithm>
#include <cmath>

namespace accum::runtime {
namespace {

Status checkRange(const char *flag, const std::optional<double> &value, double end) {
  if (!value || (std::isfinite(*value) && *value >= 0 && *value < end))
    return {};
  std::string range = end > 1 ? "a number that is not negative" : "a number in [0, 1)";
  return usage(std::string(flag) + " is " + std::to_string(*value) + ", expected " + range);
}

constexpr HyperName kNames[] = {HyperName::Momentum, HyperName::Beta1, HyperName::Beta2, HyperName::Eps};

Status checkRanges(const HyperOptions &options) {
  if (Status status = checkRange("--lr", options.lr, HUGE_VAL); !status)
    return status;
  if (Status status = checkRange("--weight-decay", options.weightDecay, HUGE_VAL); !status)
    return status;
  for (HyperName name : kNames)
    if (Status status = checkRange(flagOf(name), options.given(name), endOf(name)); !status)
      return status;
  for (auto [flag, value] :
       {std::pair("--clip-norm", options.clipNorm), {"--skip-spikes", options.skipSpikes}})
    if (value && !(std::isfinite(*value) && *value > 0))
      return usage(std::string(flag) + " is " + std::to_string(*value) + ", expected a number above 0");
  return {};
}

/// "adamw, adam and lion"
std::string ownersOf(HyperName name) {
  std::string text, last;
  for (const OptimizerSpec &spec : optimizers())
    if (spec.find(name)) {
      text += (text.empty() || last.empty() ? "" : ", ") + last;
      last = spec.name;
    }
  return text.empty() ? last : text + " and " + last;
}

Status checkApplies(const OptimizerSpec &optimizer, const HyperOptions &options) {
  for (HyperName name : kNames)
    if (options.given(name) && !optimizer.find(name))
      return usage(std::string(flagOf(name)) + " belongs to " + ownersOf(name) +
                   ", the artifact was compiled for " + optimizer.name);
  if (!options.decay.empty() && !options.weightDecay)
    return usage("--decay says what decays, but --weight-decay is not given");
  return {};
}

} // namespace

const std::optional<double> &HyperOptions::given(HyperName name) const {
  switch (name) {
  case HyperName::Momentum:
    return momentum;
  case HyperName::Beta1:
    return beta1;
  case HyperName::Beta2:
    return beta2;
  case HyperName::Eps:
    break;
  }
  return eps;
}

Status Hyper::check(const OptimizerSpec &optimizer, const HyperOptions &options) {
  Status status = checkRanges(options);
  return status ? checkApplies(optimizer, options) : status;
}

Expected<Hyper> Hyper::make(const Manifest &manifest, const HyperOptions &options) {
  Hyper hyper;
  hyper.optimizer = findOptimizer(manifest.optimizer); // a manifest that was read has one of them
  if (Status status = check(*hyper.optimizer, options); !status)
    return status.error();
  hyper.lr = options.lr.value_or(hyper.optimizer->lr);
  hyper.clipNorm = options.clipNorm.value_or(0);
  hyper.skipSpikes = options.skipSpikes.value_or(0);
  hyper.presets[ACCUM_HYPER_CORRECTION1] = 1;
  hyper.presets[ACCUM_HYPER_CORRECTION2] = 1;
  hyper.presets[ACCUM_HYPER_GRAD_SCALE] = 1;
  for (const HyperPreset &preset : hyper.optimizer->hypers)
    hyper.presets[placeOf(preset.name)] = options.given(preset.name).value_or(preset.value);
  auto coefficients =
      coefficientsOf(manifest, {options.rates, options.weightDecay.value_or(0), options.decay});
  if (!coefficients)
    return coefficients.error();
  hyper.coefficients = std::move(*coefficients);
  return hyper;
}

double Hyper::clipFactor(double norm) const {
  return clipNorm > 0 ? std::min(1.0, clipNorm / (norm + 1e-6)) : 1;
}

void Hyper::fill(uint64_t t, double factor, double values[ACCUM_HYPER_COUNT]) const {
  std::copy(presets, presets + ACCUM_HYPER_COUNT, values);
  values[ACCUM_HYPER_LR] = lr * factor;
  if (optimizer->corrections)
    optimizer->corrections(t, values);
}

} // namespace accum::runtime
