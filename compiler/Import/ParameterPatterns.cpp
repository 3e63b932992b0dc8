// SPDX-License-Identifier: Apache-2.0
// Matches names with shell patterns.
#include "compiler/Import/ParameterPatterns.h"
#include <algorithm>

namespace accum::import {

static bool isMeant(std::string_view name, const std::vector<std::string> &patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string &pattern) { return matchesGlob(pattern, name); });
}

bool matchesAny(const Parameter &parameter, const std::vector<std::string> &patterns) {
  auto isOne = [&](const std::string &name) { return isMeant(name, patterns); };
  return isOne(parameter.name) || isOne(parameter.module) ||
         std::any_of(parameter.moduleAliases.begin(), parameter.moduleAliases.end(), isOne) ||
         std::any_of(parameter.aliases.begin(), parameter.aliases.end(),
                     [&](const ParameterAlias &alias) { return isOne(alias.initializer); });
}

bool isWrittenOut(const Parameter &parameter, const std::vector<std::string> &patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string &pattern) {
    return pattern == parameter.name || pattern == parameter.module;
  });
}

bool Asked::trains(const std::string &name) const {
  return (options.trainable.empty() || isMeant(name, options.trainable)) && !isMeant(name, options.freeze);
}

bool Asked::tellsApart(const std::vector<std::string> &names) const {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string &name) { return trains(name) != trains(names.front()); });
}

} // namespace accum::import
