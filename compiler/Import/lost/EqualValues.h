// SPDX-License-Identifier: Apache-2.0
// Values that are computed in the same way from the same ones: of `f(x) - f(x).detach()` a file that cannot
// say `detach()` holds two equal halves.
#pragma once
#include "compiler/Import/model/Model.h"

namespace accum::import {

class EqualValues {
public:
  /// Of one graph, which is not changed meanwhile.
  explicit EqualValues(const Graph &graph);

  bool areEqual(const std::string &a, const std::string &b) const;

private:
  const std::string &classOf(const std::string &value) const;

  std::unordered_map<std::string, std::string>
      classes; ///< of computed values: the first of those that are equal
};

} // namespace accum::import
