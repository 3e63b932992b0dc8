// SPDX-License-Identifier: Apache-2.0
// Switches on the Dropout of a call, or gives its product of probabilities and values one.
#include "compiler/Import/lost/AttentionDropout.h"
#include "compiler/Import/lost/TracedCall.h"
#include "compiler/Import/model/Contents.h"
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace accum::import {
namespace {

/// An attention that dropped probabilities.
struct Attention {
  double ratio = 0;
  std::vector<size_t> nodes;
};

double droppedBy(const TracedCall &call) {
  if (!call.target.starts_with("aten.scaled_dot_product_attention"))
    return 0;
  return std::strtod(std::string(call.argument(4, "dropout_p")).c_str(), nullptr);
}

bool isDropout(const Node &node) { return node.opType == "Dropout" && node.domain.empty(); }

bool hasMode(const Node &node) { return node.inputs.size() > 2 && !node.inputs[2].empty(); }

/// The number that the node reads as its ratio; 0 where the file does not hold it.
double ratioOf(const Graph &graph, const Node &dropout) {
  constexpr double absent = 0.5;
  if (dropout.inputs.size() < 2 || dropout.inputs[1].empty())
    return absent;
  const std::string &name = dropout.inputs[1];
  const Tensor *tensor = graph.initializer(name);
  for (const Node &node : graph.nodes)
    if (node.opType == "Constant" && node.outputs == std::vector{name}) {
      tensor = node.attribute<Tensor>("value");
      if (const auto *number = node.attribute<float>("value_float"))
        return *number;
    }
  bool isKnown = tensor && isFloat(tensor->dtype) && tensor->elementCount() == 1 && tensor->data.isPresent();
  return isKnown ? elementAt(*tensor, 0) : 0;
}

Node constant(const Node &reader, const std::string &name, AttributeValue value, const std::string &key) {
  Node node;
  node.opType = "Constant";
  node.name = name;
  node.opset = reader.opset;
  node.outputs = {name};
  node.attributes.emplace(key, std::move(value));
  return node;
}

Tensor truth() {
  Tensor tensor;
  tensor.dtype = DType::Bool;
  tensor.data.owned = std::make_shared<const std::vector<std::byte>>(1, std::byte(1));
  tensor.data.length = 1;
  return tensor;
}

class Restoration {
public:
  explicit Restoration(Model &model)
      : graph(model.graph), isFromPyTorch(model.producer.starts_with("pytorch")) {}

  Result<std::vector<std::string>> run();

private:
  void collect();
  void switchOn(size_t node, double ratio);
  bool insert(const Attention &attention);
  bool computes(const Attention &attention) const;
  void apply();
  std::vector<std::string> notices() const;

  Graph &graph;
  bool isFromPyTorch;
  std::map<std::string, Attention> attentions; ///< by the call's result
  std::set<std::string> probabilities;         ///< values that are some attention's
  std::map<size_t, std::vector<Node>> before;  ///< new nodes, by the place of the one that reads them
  std::set<float> restored;                    ///< ratios, as files hold them
  std::vector<std::string> inert;              ///< Dropouts that stay as the file has them
};
} // namespace

void Restoration::switchOn(size_t node, double ratio) {
  Node &dropout = graph.nodes[node];
  std::string mode = dropout.name + "/training_mode";
  before[node].push_back(constant(dropout, mode, truth(), "value"));
  dropout.inputs.resize(3);
  dropout.inputs[2] = mode;
  restored.insert(static_cast<float>(ratio));
}

void Restoration::collect() {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node &node = graph.nodes[i];
    std::optional<TracedCall> call = TracedCall::of(node);
    double ratio = call ? droppedBy(*call) : 0;
    if (ratio > 0) {
      Attention &attention = attentions[call->result];
      attention.ratio = ratio;
      attention.nodes.push_back(i);
      if (node.opType == "Softmax" || node.opType == "Where")
        probabilities.insert(node.outputs.begin(), node.outputs.end());
    }
    if (call || !isDropout(node) || hasMode(node))
      continue;
    if (double written = ratioOf(graph, node); written > 0 && isFromPyTorch)
      switchOn(i, written);
    else if (written > 0)
      inert.push_back(node.name);
  }
}

/// Constants of a call outlive it where exporters merged them with others.
bool Restoration::computes(const Attention &attention) const {
  return std::any_of(attention.nodes.begin(), attention.nodes.end(), [&](size_t i) {
    return graph.nodes[i].opType == "Softmax" || graph.nodes[i].opType == "Attention";
  });
}

/// The product with the values takes a softmax, or what guards that against rows without a score.
bool Restoration::insert(const Attention &attention) {
  for (size_t i : attention.nodes) {
    Node &product = graph.nodes[i];
    if (product.opType != "MatMul" || product.inputs.empty() || probabilities.count(product.inputs[0]) == 0)
      continue;
    Node dropout = product;
    dropout.opType = "Dropout";
    dropout.name = product.name + "/dropout";
    dropout.outputs = {dropout.name};
    std::string ratio = dropout.name + "/ratio", mode = dropout.name + "/training_mode";
    before[i] = {constant(product, ratio, static_cast<float>(attention.ratio), "value_float"),
                 constant(product, mode, truth(), "value")};
    dropout.inputs = {product.inputs[0], ratio, mode};
    product.inputs[0] = dropout.name;
    before[i].push_back(std::move(dropout));
    restored.insert(static_cast<float>(attention.ratio));
    return true;
  }
  return false;
}

/// The new nodes stand before those that read them.
void Restoration::apply() {
  std::vector<Node> nodes;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (auto found = before.find(i); found != before.end())
      std::move(found->second.begin(), found->second.end(), std::back_inserter(nodes));
    nodes.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(nodes);
}

std::vector<std::string> Restoration::notices() const {
  std::vector<std::string> texts;
  if (!restored.empty())
    texts.push_back(fmt::format("dropout {} on attention probabilities: the exporter left that of "
                                "scaled_dot_product_attention out or switched it off, and it is put back; "
                                "a model exported after model.eval() has none",
                                fmt::join(restored, ", ")));
  if (!inert.empty())
    texts.push_back(fmt::format("`{}`{}: without training_mode a Dropout does nothing", inert.front(),
                                inert.size() > 1 ? fmt::format(" and {} more", inert.size() - 1) : ""));
  return texts;
}

Result<std::vector<std::string>> Restoration::run() {
  collect();
  for (const auto &[result, attention] : attentions) {
    auto written = std::find_if(attention.nodes.begin(), attention.nodes.end(),
                                [&](size_t i) { return isDropout(graph.nodes[i]); });
    if (written != attention.nodes.end() && !hasMode(graph.nodes[*written]))
      switchOn(*written, attention.ratio);
    else if (written == attention.nodes.end() && !insert(attention) && computes(attention))
      return Failure{
          "lost-in-export",
          backquoted(result),
          fmt::format("dropped probabilities with dropout_p = {}, which the exporter left out, and "
                      "its nodes are not those of an attention: the step is not the model's",
                      attention.ratio),
          {"export with optimize=False, or with attn_implementation=\"eager\"",
           "or after model.eval(), to train without dropout"}};
  }
  apply();
  return notices();
}

Result<std::vector<std::string>> restoreAttentionDropout(Model &model) { return Restoration(model).run(); }

} // namespace accum::import
