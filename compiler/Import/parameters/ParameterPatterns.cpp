// SPDX-License-Identifier: Apache-2.0
// Matches names with shell patterns.
#include "compiler/Import/parameters/ParameterPatterns.h"
#include <algorithm>

namespace accum::import {

std::vector<std::string> patternsOfFile(const Model &model) {
  auto frozen = model.metadata.find(kFreezeKey);
  std::string_view text = frozen == model.metadata.end() ? "" : std::string_view(frozen->second);
  constexpr std::string_view between = ", \t\n";
  std::vector<std::string> patterns;
  for (size_t begin = text.find_first_not_of(between); begin != std::string_view::npos;
       begin = text.find_first_not_of(between, begin)) {
    size_t end = std::min(text.find_first_of(between, begin), text.size());
    patterns.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return patterns;
}

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
  bool isChosen = options.trainable.empty() ? !isMeant(name, frozenByFile) : isMeant(name, options.trainable);
  return isChosen && !isMeant(name, options.freeze);
}

bool Asked::tellsApart(const std::vector<std::string> &names) const {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string &name) { return trains(name) != trains(names.front()); });
}

} // namespace accum::import
