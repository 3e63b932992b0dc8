// SPDX-License-Identifier: Apache-2.0
// Forms that are of no use without a `detach()`: `x + (f(x) - x).detach()` gives the value of f(x) and the
// gradient of x, `x - x.detach()` and `x / x.detach()` are constants with a gradient. A file that cannot say
// `detach()` keeps what cancels.
#pragma once
#include "compiler/Import/lost/EqualValues.h"
#include "compiler/Import/model/Producers.h"
#include "compiler/Import/walk/Refusal.h"
#include <functional>
#include <optional>

namespace accum::import {

class StraightThrough {
public:
  /// `trusted`: patterns of nodes whose gradient is the graph's all the same. Of a file with the metadata of
  /// the dynamo exporter, which tells of each `detach()`, nothing is refused.
  StraightThrough(const Graph &graph, std::vector<std::string> trusted);

  /// Of a node that takes something trained from itself, divides it by itself, or takes back what another
  /// node did with it.
  std::optional<Refusal> refusal(const Node &node,
                                 const std::function<bool(const std::string &)> &isTrained) const;

private:
  const Node *undone(const Node &node, size_t operand) const;
  bool isSame(const std::string &a, const std::string &b) const;

  Producers producers;
  std::string otherFile;            ///< the one that tells
  std::optional<EqualValues> equal; ///< of files that do not tell
  std::vector<std::string> trusted;
};

} // namespace accum::import
