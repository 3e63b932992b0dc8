// SPDX-License-Identifier: Apache-2.0
// `x + (f(x) - x).detach()` gives the value of f(x) and the gradient of x. A file that cannot say `detach()`
// keeps the sum, which is of no use without it.
#pragma once
#include "compiler/Import/model/Model.h"
#include "compiler/Import/model/Producers.h"
#include "compiler/Import/walk/Refusal.h"
#include <optional>

namespace accum::import {

class StraightThrough {
public:
  /// `trusted`: patterns of nodes whose gradient is the graph's all the same. Of a file with the metadata of
  /// the dynamo exporter, which tells of each `detach()`, nothing is refused.
  StraightThrough(const Graph &graph, std::vector<std::string> trusted);

  /// Of a node that adds back what another one subtracts.
  std::optional<Refusal> refusal(const Node &node) const;

private:
  Producers producers;
  std::vector<std::string> trusted;
  bool saysDetached = false;
};

} // namespace accum::import
