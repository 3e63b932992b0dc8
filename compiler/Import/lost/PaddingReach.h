// SPDX-License-Identifier: Apache-2.0
// Which way ids go into lookups, and where what was looked up for one position comes to another one.
#pragma once
#include "compiler/Import/model/Producers.h"
#include <functional>

namespace accum::import {

/// Where ids come from.
class IdPaths {
public:
  explicit IdPaths(const Graph &graph) : graph(graph), producers(graph) {}

  /// The elements of this value are those of an input of the model, moved and in part replaced.
  bool isOfInput(const std::string &value) const;
  /// The number that stands in this value for some ids of an input: `Where(ignored, row, ids)`, moved on.
  std::optional<int64_t> substitute(const std::string &value) const;
  /// Of an initializer or a Constant; empty for what is computed.
  std::vector<int64_t> integers(const std::string &value) const;

private:
  /// Calls `visit` for the value and all that its elements are moved from, until it says true.
  bool walk(const std::string &value, const std::function<bool(const std::string &)> &visit) const;

  const Graph &graph;
  Producers producers;
};

/// The first node that mixes positions of a sample, among them some that no mask has taken out, of what
/// `isLookup` nodes read for each position: a convolution, a pooling, a sum along the positions. Null where
/// there is none.
const Node *mixesPositions(const Graph &graph, const std::function<bool(const Node &)> &isLookup);
/// Samples come with a mask of what is padding.
bool hasMaskInput(const Graph &graph);

} // namespace accum::import
