// SPDX-License-Identifier: Apache-2.0
// What the options, and the file, say of a parameter's names.
#pragma once
#include "compiler/Import/parameters/Parameters.h"

namespace accum::import {

/// The patterns of kFreezeKey.
std::vector<std::string> patternsOfFile(const Model &model);

/// Whether one of them fits any name by which a user may mean the parameter.
bool matchesAny(const Parameter &parameter, const std::vector<std::string> &patterns);
/// Whether one of them is the parameter's name, and no pattern for it.
bool isWrittenOut(const Parameter &parameter, const std::vector<std::string> &patterns);

/// Of a parameter that is trained unless something says otherwise.
struct Asked {
  const ParameterOptions &options;
  std::vector<std::string> frozenByFile; ///< patterns

  bool trains(const std::string &name) const;
  /// Some of these names are trained and others are not.
  bool tellsApart(const std::vector<std::string> &names) const;
};

} // namespace accum::import
