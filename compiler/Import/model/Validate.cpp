// SPDX-License-Identifier: Apache-2.0
// Definitions, uses and a stable topological sort.
#include "compiler/Import/model/Validate.h"
#include "base/Utf8.h"
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <queue>
#include <unordered_set>

namespace accum::import {
namespace {

/// Calls `visit` with each subgraph of the node's attributes.
template <class NodeType, class Visit> void forEachSubgraph(NodeType &node, Visit visit) {
  for (auto &[key, value] : node.attributes) {
    if (auto *graph = std::get_if<std::shared_ptr<Graph>>(&value))
      visit(**graph);
    if (auto *graphs = std::get_if<std::vector<std::shared_ptr<Graph>>>(&value))
      for (const std::shared_ptr<Graph> &graph : *graphs)
        visit(*graph);
  }
}

class GraphCheck {
public:
  GraphCheck(Graph &graph, const GraphCheck *outer) : graph(graph), outer(outer) {}

  /// Appends what is wrong to `failures`.
  void run(Failures &failures);
  /// Names that this graph reads and does not define; sorted out by the graph around it.
  std::unordered_set<std::string> captured;

private:
  void define(const std::string &name, int64_t node);
  void defineAll();
  void readAll();
  void read(const std::string &name, size_t node);
  bool isDefinedOutside(const std::string &name) const;
  void sort();
  void reportCycle(const std::vector<int> &waiting);
  std::string whereDefined(int64_t node) const;
  void fail(std::string subject, std::string message, std::vector<std::string> notes = {}) {
    failures->push_back({"malformed-model", std::move(subject), std::move(message), std::move(notes)});
  }

  static constexpr int64_t isInput = -1, isInitializer = -2;
  Graph &graph;
  const GraphCheck *outer;
  Failures *failures = nullptr;
  std::unordered_map<std::string, int64_t> definitions; ///< name -> node, or isInput, isInitializer
  std::vector<std::vector<size_t>> readers;             ///< node -> nodes that read it, with repetitions
  std::vector<int> reads;                               ///< node -> edges into it
};

void GraphCheck::run(Failures &sink) {
  failures = &sink;
  size_t before = sink.size();
  readers.assign(graph.nodes.size(), {});
  reads.assign(graph.nodes.size(), 0);
  defineAll();
  readAll();
  if (sink.size() == before)
    sort();
}

std::string GraphCheck::whereDefined(int64_t node) const {
  if (node == isInput)
    return "a graph input";
  if (node == isInitializer)
    return "an initializer";
  return "an output of " + backquoted(graph.nodes[static_cast<size_t>(node)].name);
}

void GraphCheck::define(const std::string &name, int64_t node) {
  if (!isUtf8(name))
    return fail(whereDefined(node), "has a name that is not UTF-8 text");
  auto [first, isNew] = definitions.emplace(name, node);
  if (isNew)
    return;
  std::vector<std::string> notes;
  if (first->second == isInitializer && node >= 0) // dynamo's `t` of a transpose, beside a module's `self.t`
    notes = {"exporters name values after operators: call the parameter otherwise in the module"};
  fail(backquoted(name),
       fmt::format("is defined twice: {} and {}", whereDefined(first->second), whereDefined(node)),
       std::move(notes));
}

void GraphCheck::defineAll() {
  for (const Tensor &tensor : graph.initializers)
    define(tensor.name, isInitializer);
  for (const ValueInfo &input : graph.inputs)
    define(input.name, isInput);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node &node = graph.nodes[i];
    if (!isUtf8(node.name) || !isUtf8(node.opType) || !isUtf8(node.domain))
      fail(fmt::format("node {}", i), "has a name that is not UTF-8 text");
    for (const std::string &output : node.outputs)
      if (!output.empty())
        define(output, static_cast<int64_t>(i));
  }
}

bool GraphCheck::isDefinedOutside(const std::string &name) const {
  for (const GraphCheck *scope = outer; scope; scope = scope->outer)
    if (scope->definitions.count(name))
      return true;
  return false;
}

void GraphCheck::read(const std::string &name, size_t node) {
  if (name.empty())
    return;
  auto definition = definitions.find(name);
  if (definition == definitions.end()) {
    captured.insert(name);
    if (!isDefinedOutside(name))
      fail(backquoted(graph.nodes[node].name), fmt::format("reads `{}`, which nothing defines", name));
    return;
  }
  if (definition->second < 0)
    return;
  readers[static_cast<size_t>(definition->second)].push_back(node);
  ++reads[node];
}

void GraphCheck::readAll() {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string &input : graph.nodes[i].inputs)
      read(input, i);
    forEachSubgraph(graph.nodes[i], [&](Graph &inner) {
      GraphCheck check(inner, this);
      check.run(*failures);
      for (const std::string &name : check.captured)
        if (definitions.count(name) || isDefinedOutside(name))
          read(name, i);
    });
  }
  for (const ValueInfo &output : graph.outputs)
    if (!definitions.count(output.name) && !isDefinedOutside(output.name))
      fail(backquoted(output.name), "is a graph output that nothing defines");
    else if (!definitions.count(output.name))
      captured.insert(output.name);
}

void GraphCheck::sort() {
  std::vector<int> waiting = reads;
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < waiting.size(); ++i)
    if (waiting[i] == 0)
      ready.push(i);
  std::vector<size_t> order;
  while (!ready.empty()) {
    size_t node = ready.top();
    ready.pop();
    order.push_back(node);
    for (size_t reader : readers[node])
      if (--waiting[reader] == 0)
        ready.push(reader);
  }
  if (order.size() < graph.nodes.size())
    return reportCycle(waiting);
  if (std::is_sorted(order.begin(), order.end()))
    return;
  std::vector<Node> sorted;
  sorted.reserve(order.size());
  for (size_t node : order)
    sorted.push_back(std::move(graph.nodes[node]));
  graph.nodes = std::move(sorted);
}

void GraphCheck::reportCycle(const std::vector<int> &waiting) {
  // Every node left waits for another one that is left: going back from any of them ends in a cycle.
  std::vector<size_t> waitsFor(waiting.size());
  size_t node = 0;
  for (size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i] == 0)
      continue;
    node = i;
    for (size_t reader : readers[i])
      waitsFor[reader] = i;
  }
  std::vector<bool> seen(waiting.size());
  for (; !seen[node]; node = waitsFor[node])
    seen[node] = true;
  std::vector<size_t> cycle{node};
  for (size_t next = waitsFor[node]; next != node; next = waitsFor[next])
    cycle.push_back(next);
  std::string path = backquoted(graph.nodes[node].name);
  constexpr size_t shown = 8;
  for (size_t i = 0; i < std::min(cycle.size(), shown); ++i)
    path += fmt::format(" -> `{}`", graph.nodes[cycle[cycle.size() - 1 - i]].name);
  if (cycle.size() == 1)
    return fail(backquoted(graph.nodes[node].name), "reads what it computes");
  fail(backquoted(graph.nodes[node].name), fmt::format("is part of a cycle of {} nodes: {}{}", cycle.size(),
                                                       path, cycle.size() > shown ? " -> ..." : ""));
}
} // namespace

Failures validate(Graph &graph) {
  Failures failures;
  GraphCheck(graph, nullptr).run(failures);
  return failures;
}

} // namespace accum::import
