// SPDX-License-Identifier: Apache-2.0
// Which nodes a gradient comes back to.
#pragma once
#include "compiler/Import/model/Model.h"
#include <set>

namespace accum::import {

class GradientReach {
public:
  /// Of a gradient that starts at these values.
  GradientReach(const Graph &graph, const std::vector<std::string> &outputs);

  /// A gradient goes back from the node's results to what it reads, as far as its operator tells: not where
  /// it compares, counts, rounds or detaches.
  bool passes(const Node &node) const;

private:
  std::set<std::string, std::less<>> reached; ///< values
};

} // namespace accum::import
