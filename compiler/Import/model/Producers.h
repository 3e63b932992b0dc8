// SPDX-License-Identifier: Apache-2.0
// Which node gives a value.
#pragma once
#include "compiler/Import/model/Model.h"

namespace accum::import {

/// Of one graph, which is not changed meanwhile.
class Producers {
public:
  explicit Producers(const Graph &graph) {
    for (const Node &node : graph.nodes)
      for (const std::string &output : node.outputs)
        producers.emplace(output, &node);
  }
  /// Null for inputs and initializers.
  const Node *of(std::string_view value) const {
    auto entry = producers.find(value);
    return entry == producers.end() ? nullptr : entry->second;
  }

private:
  std::unordered_map<std::string_view, const Node *> producers;
};

} // namespace accum::import
