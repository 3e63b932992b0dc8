// SPDX-License-Identifier: Apache-2.0
// How much is trained and how much is not, by the model's top modules.
#pragma once
#include "compiler/Import/Import.h"

namespace accum::import {

class ModuleCounts {
public:
  /// Modules are told apart below what all names have in common.
  explicit ModuleCounts(const ParameterTable &table);

  void add(const Parameter &parameter, bool trained, int64_t elements);
  std::vector<ModuleCount> take() { return std::move(counts); }

private:
  std::string common; ///< "model." where every parameter is below it
  std::vector<ModuleCount> counts;
};

} // namespace accum::import
