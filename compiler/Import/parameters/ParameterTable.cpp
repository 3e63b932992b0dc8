// SPDX-License-Identifier: Apache-2.0
// Looks into the table of parameters.
#include "compiler/Import/parameters/Parameters.h"
#include <algorithm>

namespace accum::import {

int64_t ParameterTable::trainedElements() const {
  int64_t count = 0;
  for (const Parameter &parameter : parameters) {
    int64_t elements = 1;
    for (int64_t size : parameter.shape)
      elements *= size;
    count += parameter.trained ? elements : 0;
  }
  return count;
}

const Parameter *ParameterTable::find(std::string_view initializer) const {
  for (const Parameter &parameter : parameters) {
    auto isIt = [&](const ParameterAlias &alias) { return alias.initializer == initializer; };
    if (parameter.name == initializer ||
        std::any_of(parameter.aliases.begin(), parameter.aliases.end(), isIt))
      return &parameter;
  }
  return nullptr;
}

} // namespace accum::import
