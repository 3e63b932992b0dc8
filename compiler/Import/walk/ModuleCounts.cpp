// SPDX-License-Identifier: Apache-2.0
// Cuts parameters' names behind their first module.
#include "compiler/Import/walk/ModuleCounts.h"
#include "compiler/Import/parameters/ModuleNames.h"
#include <algorithm>
#include <cctype>

namespace accum::import {

static bool isNamed(const Parameter &parameter) {
  return isModuleName(parameter.module) && parameter.module.find("::") == std::string::npos;
}

/// `model.` of `model.encoder.fc.weight` behind "", and so on; "" where the name has no further module.
static std::string nextPart(const std::string &name, size_t from) {
  size_t dot = name.find('.', from);
  return dot == std::string::npos ? "" : name.substr(from, dot + 1 - from);
}

ModuleCounts::ModuleCounts(const ParameterTable &table) {
  std::vector<std::string> names;
  for (const Parameter &parameter : table.parameters)
    if (isNamed(parameter))
      names.push_back(parameter.module);
  while (!names.empty()) {
    std::string part = nextPart(names.front(), common.size());
    auto isBelow = [&](const std::string &name) {
      // What one more part leaves must be the name of a module too, not of a layer or of a tensor.
      std::string next = nextPart(name, common.size() + part.size());
      return name.compare(common.size(), part.size(), part) == 0 && !next.empty() &&
             !std::isdigit(static_cast<unsigned char>(next.front()));
    };
    if (part.empty() || !std::all_of(names.begin(), names.end(), isBelow))
      break;
    common += part;
  }
}

void ModuleCounts::add(const Parameter &parameter, bool trained, int64_t elements) {
  std::string name;
  if (isNamed(parameter))
    name = parameter.module.substr(0, parameter.module.find('.', common.size()));
  auto count = std::find_if(counts.begin(), counts.end(),
                            [&](const ModuleCount &count) { return count.name == name; });
  if (count == counts.end())
    count = counts.insert(counts.end(), {name});
  (trained ? count->trained : count->frozen) += elements;
}

} // namespace accum::import
