// SPDX-License-Identifier: Apache-2.0
// Copies nodes in topological order: the readers of a copy come after it.
#include "compiler/Import/parameters/SharedViews.h"
#include "compiler/Import/model/Readers.h"
#include <fmt/format.h>

namespace accum::import {
namespace {

class Splitting {
public:
  Splitting(Graph &graph, const std::set<std::string> &initializers) : graph(graph), views(initializers) {
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      for (size_t operand = 0; operand < graph.nodes[i].inputs.size(); ++operand)
        uses[graph.nodes[i].inputs[operand]].push_back({i, operand});
    for (const ValueInfo &output : graph.outputs)
      outputs.insert(output.name);
  }

  void run() {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      Node &node = graph.nodes[i];
      bool isOfThese = isViewOfFirst(node) && views.count(node.inputs[0]);
      if (isOfThese && uses[node.outputs[0]].size() > 1)
        copyForUses(node);
      else
        nodes.push_back(std::move(node));
      if (isOfThese)
        views.insert(nodes.back().outputs[0]);
    }
    graph.nodes = std::move(nodes);
  }

private:
  struct Use {
    size_t node, operand;
  };

  void copyForUses(Node &node) {
    const std::string result = node.outputs[0];
    size_t count = 0;
    for (const Use &use : uses[result]) {
      Node copy = node;
      copy.outputs[0] = fmt::format("{}@{}", result, ++count);
      if (const ValueInfo *info = graph.info(result))
        graph.valueInfo.emplace(copy.outputs[0], ValueInfo(*info));
      // All that read it come later.
      graph.nodes[use.node].inputs[use.operand] = copy.outputs[0];
      views.insert(copy.outputs[0]);
      nodes.push_back(std::move(copy));
    }
    if (outputs.count(result))
      nodes.push_back(std::move(node));
  }

  Graph &graph;
  std::set<std::string> views, outputs;
  std::unordered_map<std::string, std::vector<Use>> uses;
  std::vector<Node> nodes;
};
} // namespace

void splitViews(Graph &graph, const std::set<std::string> &initializers) {
  if (!initializers.empty())
    Splitting(graph, initializers).run();
}

} // namespace accum::import
