// SPDX-License-Identifier: Apache-2.0
// Functions with a backward pass of their own (`torch.autograd.Function`), and code without one: a file holds
// their forward alone, and its derivative may be another one. Stack traces tell which nodes come from them.
#pragma once
#include "compiler/Import/model/Model.h"
#include "compiler/Import/walk/Refusal.h"
#include <optional>
#include <set>

namespace accum::import {

class CustomBackward {
public:
  /// `trusted` are patterns over the names of functions: the derivative of what they compute is meant.
  CustomBackward(const Graph &graph, std::vector<std::string> trusted);

  /// Why no gradient may go back through this node. Asked of nodes that depend on what is trained.
  std::optional<Refusal> refusal(const Node &node) const;
  /// The function whose `apply` stands in the line that the node comes from, though the node is none of
  /// its: what an optimiser leaves of a function that changes no value.
  std::optional<Refusal> refusalOfLine(const Node &node) const;
  /// The node comes from a block in which the model may have switched gradients off: torch.export traces the
  /// code of `torch.no_grad()` apart, and its trace stands in a file without a path.
  std::optional<Refusal> refusalOfBlock(const Node &node) const;
  /// There is such a line, and its function is trusted.
  bool trustsLineOf(const Node &node) const;

private:
  bool isTrusted(const std::string &name, std::string_view file) const;

  const Graph &graph;
  std::vector<std::string> trusted;
  std::map<const Node *, Refusal> refusals; ///< of functions and hooks that are not trusted
};

} // namespace accum::import
