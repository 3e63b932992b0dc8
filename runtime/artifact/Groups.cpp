// SPDX-License-Identifier: Apache-2.0
// Patterns over names, the first that matches wins.
#include "runtime/artifact/Groups.h"
#include "base/NearestNames.h"
#include "runtime/system/Hash.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <fnmatch.h>

namespace accum::runtime {
namespace {

/// Of the parameter, in the model file and in the framework.
std::vector<std::string> namesOf(const ParameterSpec &param) {
  std::vector<std::string> names = {param.onnxName};
  for (const auto *others : {&param.aliases, &param.framework})
    for (const AliasSpec &other : *others)
      names.push_back(other.name);
  return names;
}

/// With * and ?, of which neither means / or . more than other letters.
bool matches(const std::string &glob, const ParameterSpec &param) {
  std::vector<std::string> names = namesOf(param);
  return std::any_of(names.begin(), names.end(),
                     [&](auto &name) { return fnmatch(glob.c_str(), name.c_str(), 0) == 0; });
}

bool decays(const std::string &rule, const ParameterSpec &param) {
  return rule == "all" || (rule == "matrices" ? param.decayDefault : matches(rule, param));
}

/// Where no trained parameter matches.
Error matchesNothing(const Manifest &manifest, const std::string &flag, const std::string &glob) {
  std::vector<std::string> names;
  bool isFrozen = false;
  for (const ParameterSpec &param : manifest.params) {
    isFrozen |= !param.trained && matches(glob, param);
    if (param.trained)
      for (const std::string &name : namesOf(param))
        names.push_back(name);
  }
  if (isFrozen)
    return usage(flag + " matches frozen parameters only, which no update changes");
  std::string nearest;
  for (const std::string &name : nearestNames(glob, names, 3))
    nearest += (nearest.empty() ? "nearest: `" : ", `") + name + "`";
  return usage(flag + " matches no trained parameter", {nearest});
}

/// The model file's value is the parameter plus a constant.
bool isShifted(const ParameterSpec &param) {
  return std::any_of(param.framework.begin(), param.framework.end(),
                     [](const AliasSpec &alias) { return alias.added != 0; });
}

Status assignRates(const Manifest &manifest, const GroupRules &rules, Coefficients &result) {
  std::vector<bool> matched(rules.rates.size()), used(rules.rates.size());
  for (const ParameterSpec &param : manifest.params) {
    if (!param.trained)
      continue;
    std::optional<size_t> first;
    for (size_t i = 0; i < rules.rates.size(); ++i)
      if (matches(rules.rates[i].glob, param)) {
        matched[i] = true;
        first = first.value_or(i);
      }
    if (first)
      used[*first] = true;
    result.rate.push_back(first ? rules.rates[*first].factor : 1);
  }
  for (size_t i = 0; i < rules.rates.size(); ++i) {
    std::string flag = fmt::format("--lr-scale {}={}", rules.rates[i].glob, rules.rates[i].factor);
    if (!matched[i])
      return matchesNothing(manifest, flag, rules.rates[i].glob);
    if (!used[i])
      return usage(flag + " decides nothing: an earlier --lr-scale takes all that it matches",
                   {"the first pattern that matches wins: put the narrower one in front"});
  }
  return {};
}

Status assignDecays(const Manifest &manifest, const GroupRules &rules, Coefficients &result) {
  std::vector<std::string> decayRules = rules.decays;
  if (decayRules.empty())
    decayRules = {"matrices"};
  std::vector<bool> matched(decayRules.size());
  for (const ParameterSpec &param : manifest.params) {
    if (!param.trained)
      continue;
    std::string by;
    for (size_t i = 0; i < decayRules.size(); ++i)
      if (decays(decayRules[i], param)) {
        matched[i] = true;
        by = by.empty() ? decayRules[i] : by;
      }
    bool decayed = !by.empty() && rules.weightDecay != 0;
    if (decayed && isShifted(param))
      return usage("--decay " + by + ": `" + param.onnxName + "` holds 1 + `" + param.framework.front().name +
                   "`, which a decay would pull to 0 where the model's is pulled to 1: leave it out");
    result.decay.push_back(decayed ? rules.weightDecay : 0);
  }
  for (size_t i = 0; i < decayRules.size(); ++i)
    if (!matched[i] && rules.weightDecay != 0)
      return matchesNothing(manifest, "--decay " + decayRules[i], decayRules[i]);
  return {};
}

} // namespace

std::optional<RateRule> rateRuleIn(const std::string &text) {
  size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    return std::nullopt;
  const char *begin = text.c_str() + at + 1;
  char *end = nullptr;
  double factor = std::strtod(begin, &end);
  if (*end != '\0' || !std::isfinite(factor) || factor < 0)
    return std::nullopt;
  return RateRule{text.substr(0, at), factor};
}

Expected<Coefficients> coefficientsOf(const Manifest &manifest, const GroupRules &rules) {
  Coefficients result;
  Status status = assignRates(manifest, rules, result);
  if (status)
    status = assignDecays(manifest, rules, result);
  if (!status)
    return status.error();
  return result;
}

std::vector<Group> groupsOf(const Manifest &manifest, const Coefficients &coefficients) {
  std::vector<Group> groups;
  std::vector<size_t> numberOf; // of a parameter among those trained
  size_t trained = 0;
  for (const ParameterSpec &param : manifest.params)
    numberOf.push_back(param.trained ? trained++ : 0);
  for (size_t p : manifest.modelOrder()) {
    const ParameterSpec &param = manifest.params[p];
    if (!param.trained)
      continue;
    double rate = coefficients.rate[numberOf[p]], decay = coefficients.decay[numberOf[p]];
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group &each) { return each.rate == rate && each.decay == decay; });
    if (group == groups.end())
      group = groups.insert(groups.end(), {rate, decay, 0, 0, ""});
    ++group->tensors;
    group->values += uint64_t(param.elements());
    group->members += param.onnxName + '\n';
  }
  for (Group &group : groups)
    group.members = hashText(group.members);
  return groups;
}

std::string describe(const Group &group) {
  return fmt::format("lr * {}, decay {}: {} tensor{}, {} value{}", group.rate, group.decay, group.tensors,
                     group.tensors == 1 ? "" : "s", group.values, group.values == 1 ? "" : "s");
}

} // namespace accum::runtime
