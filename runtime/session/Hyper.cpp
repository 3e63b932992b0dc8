// SPDX-License-Identifier: Apache-2.0
// Defaults, ranges and bias corrections.
#include "runtime/session/Hyper.h"
#include <algorithm>
#include <cmath>
#include <fnmatch.h>

namespace accum::runtime {
namespace {

Error usage(const std::string &message) { return {kExitUsage, message, "usage"}; }

Status checkRange(const char *flag, const std::optional<double> &value, double end) {
  if (!value || (std::isfinite(*value) && *value >= 0 && *value < end))
    return {};
  std::string range = end > 1 ? "a number that is not negative" : "a number in [0, 1)";
  return usage(std::string(flag) + " is " + std::to_string(*value) + ", expected " + range);
}

Status checkRanges(const HyperOptions &options) {
  struct Row {
    const char *flag;
    const std::optional<double> &value;
    double end;
  };
  for (const Row &row :
       {Row{"--lr", options.lr, HUGE_VAL}, Row{"--weight-decay", options.weightDecay, HUGE_VAL},
        Row{"--beta1", options.beta1, 1}, Row{"--beta2", options.beta2, 1},
        Row{"--eps", options.eps, HUGE_VAL}, Row{"--momentum", options.momentum, 1}})
    if (Status status = checkRange(row.flag, row.value, row.end); !status)
      return status;
  for (auto [flag, value] :
       {std::pair("--clip-norm", options.clipNorm), {"--skip-spikes", options.skipSpikes}})
    if (value && !(std::isfinite(*value) && *value > 0))
      return usage(std::string(flag) + " is " + std::to_string(*value) + ", expected a number above 0");
  return {};
}

Status checkApplies(const std::string &optimizer, const HyperOptions &options) {
  bool adaptive = optimizer == "adam" || optimizer == "adamw";
  if (!adaptive && (options.beta1 || options.beta2 || options.eps))
    return usage("--beta1, --beta2 and --eps belong to adam and adamw, the artifact was compiled for " +
                 optimizer);
  if (options.momentum && optimizer != "sgd-momentum")
    return usage("--momentum belongs to sgd-momentum, the artifact was compiled for " + optimizer);
  if (!options.decay.empty() && options.weightDecay.value_or(0) == 0)
    return usage("--decay says what decays, but --weight-decay is not given");
  return {};
}

bool decays(const ParameterSpec &param, const std::string &rule) {
  if (rule == "all")
    return true;
  if (rule.empty() || rule == "matrices")
    return param.decayDefault;
  auto matches = [&](const AliasSpec &alias) { return matchesGlob(rule, alias.name); };
  return matchesGlob(rule, param.onnxName) ||
         std::any_of(param.aliases.begin(), param.aliases.end(), matches) ||
         std::any_of(param.framework.begin(), param.framework.end(), matches);
}

/// The model file's value is the parameter plus a constant.
bool isShifted(const ParameterSpec &param) {
  return std::any_of(param.framework.begin(), param.framework.end(),
                     [](const AliasSpec &alias) { return alias.added != 0; });
}

} // namespace

bool matchesGlob(const std::string &glob, const std::string &name) {
  return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

Expected<Hyper> Hyper::make(const Manifest &manifest, const HyperOptions &options) {
  if (Status status = checkRanges(options); !status)
    return status.error();
  if (Status status = checkApplies(manifest.optimizer, options); !status)
    return status.error();
  Hyper hyper;
  hyper.optimizer = manifest.optimizer;
  hyper.lr = options.lr.value_or(1e-3);
  hyper.clipNorm = options.clipNorm.value_or(0);
  hyper.skipSpikes = options.skipSpikes.value_or(0);
  if (manifest.optimizer == "sgd-momentum")
    hyper.beta1 = options.momentum.value_or(0.9);
  if (manifest.optimizer == "adam" || manifest.optimizer == "adamw") {
    hyper.beta1 = options.beta1.value_or(0.9);
    hyper.beta2 = options.beta2.value_or(0.999);
    hyper.eps = options.eps.value_or(1e-8);
  }
  bool any = options.weightDecay.value_or(0) == 0;
  for (const ParameterSpec &param : manifest.params) {
    if (!param.trained)
      continue;
    bool decayed = decays(param, options.decay);
    if (decayed && options.weightDecay.value_or(0) != 0 && isShifted(param))
      return usage("--decay " + options.decay + ": `" + param.onnxName + "` holds 1 + `" +
                   param.framework.front().name +
                   "`, which a decay would pull to 0 where the model's is pulled to 1: leave it out");
    hyper.decay.push_back(decayed ? options.weightDecay.value_or(0) : 0);
    any |= decayed;
  }
  if (!any)
    return usage("--decay " + (options.decay.empty() ? "matrices" : options.decay) +
                 " matches no trained parameter");
  return hyper;
}

double Hyper::clipFactor(double norm) const {
  return clipNorm > 0 ? std::min(1.0, clipNorm / (norm + 1e-6)) : 1;
}

void Hyper::fill(uint64_t t, double factor, double values[ACCUM_HYPER_COUNT]) const {
  std::fill(values, values + ACCUM_HYPER_COUNT, 0.0);
  values[ACCUM_HYPER_LR] = lr * factor;
  values[ACCUM_HYPER_BETA1] = beta1;
  values[ACCUM_HYPER_BETA2] = beta2;
  values[ACCUM_HYPER_EPS] = eps;
  values[ACCUM_HYPER_CORRECTION1] = 1;
  values[ACCUM_HYPER_CORRECTION2] = 1;
  values[ACCUM_HYPER_GRAD_SCALE] = 1;
  if (optimizer == "sgd-momentum")
    values[ACCUM_HYPER_CORRECTION1] = t == 1 ? 0 : 1;
  if (optimizer == "adam" || optimizer == "adamw") {
    values[ACCUM_HYPER_CORRECTION1] = 1 - std::pow(beta1, double(t));
    values[ACCUM_HYPER_CORRECTION2] = std::sqrt(1 - std::pow(beta2, double(t)));
  }
}

} // namespace accum::runtime
