// SPDX-License-Identifier: Apache-2.0
// Ranges, and which options an optimizer has.
#include "runtime/session/Hyper.h"
#include <algorithm>
#include <cmath>

namespace accum::runtime {
namespace {

constexpr HyperName kNames[] = {HyperName::Momentum, HyperName::Beta1, HyperName::Beta2, HyperName::Eps};

Status checkRanges(const HyperOptions &options) {
  RunOptions all;
  static_cast<HyperOptions &>(all) = options;
  for (const RunOption &row : runOptions())
    if (auto value = row.owner == OptionOwner::Update ? numberGiven(row, all) : std::nullopt)
      if (!isIn(row.range, *value))
        return usage(row.flag() + " is " + std::to_string(*value) + ", expected " + describe(row.range));
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
                   ", the artifact was compiled for " + optimizer.baseName());
  if (options.ema && *options.ema >= 1)
    return usage("--ema is " + std::to_string(*options.ema) + ", expected a number between 0 and 1");
  if (options.ema && !optimizer.keepsAverage)
    return usage("--ema is the decay of an average of the weights, and the artifact keeps none",
                 {"accumc --ema compiles one in: it takes the memory of the weights once more"});
  if (!options.decay.empty() && !options.weightDecay)
    return usage("--decay says what decays, but --weight-decay is not given");
  return {};
}

} // namespace

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
  if (hyper.optimizer->keepsAverage) {
    hyper.ema = options.ema.value_or(kAverageDecay);
    hyper.presets[ACCUM_HYPER_EMA] = 1 - hyper.ema;
  }
  hyper.settled = options;
  if (hyper.optimizer->keepsAverage)
    hyper.settled.ema = hyper.ema;
  hyper.settled.lr = hyper.lr;
  hyper.settled.weightDecay = options.weightDecay.value_or(0);
  for (const HyperPreset &preset : hyper.optimizer->hypers) {
    std::optional<double> &value = hyper.settled.given(preset.name);
    hyper.presets[placeOf(preset.name)] = *(value = value.value_or(preset.value));
  }
  GroupRules rules{{}, *hyper.settled.weightDecay, options.decay};
  for (const std::string &text : options.lrScales)
    if (auto rule = rateRuleIn(text))
      rules.rates.push_back(*rule);
    else
      return usage("`" + text + "` is not GLOB=X");
  auto coefficients = coefficientsOf(manifest, rules);
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
