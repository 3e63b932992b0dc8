// SPDX-License-Identifier: Apache-2.0
// Tells them from transposed weights and from gains of norms, by their readers.
#include "compiler/Import/parameters/TracedConstants.h"
#include "compiler/Import/model/Producers.h"
#include "compiler/Import/parameters/ModuleNames.h"
#include <algorithm>
#include <set>

namespace accum::import {
namespace {

/// Whether `value` is what a norm divides by, or its reciprocal: a root of a mean.
bool isRootOfMean(const Graph &graph, const Producers &producers, std::string_view value) {
  bool hasRoot = false;
  for (const Node *node = producers.of(value); node; node = producers.of(value)) {
    if (node->opType == "ReduceMean")
      return hasRoot;
    if (node->inputs.empty() || !isOneOf(node->opType, {"Cast", "Reciprocal", "Div", "Sqrt", "Add"}))
      return false;
    hasRoot |= node->opType == "Sqrt";
    // Of 1 / root and mean + epsilon, the side that is computed.
    bool isSecond = node->opType == "Div" || (node->opType == "Add" && graph.initializer(node->inputs[0]));
    const Node *left = producers.of(node->inputs[0]);
    isSecond |= node->opType == "Add" && (!left || left->opType == "Constant");
    value = node->inputs[isSecond && node->inputs.size() > 1];
  }
  return false;
}

/// x / sqrt(mean(x^2) + e), or what an operator of norms gives.
bool isNormalised(const Graph &graph, std::string_view value) {
  Producers producers(graph);
  const Node *node = producers.of(value);
  while (node && node->opType == "Cast")
    node = producers.of(node->inputs[0]);
  if (!node)
    return false;
  if (node->opType.ends_with("Normalization"))
    return true;
  bool isProduct = node->opType == "Mul" || node->opType == "Div";
  return isProduct && std::any_of(node->inputs.begin(), node->inputs.end(), [&](const std::string &side) {
           return isRootOfMean(graph, producers, side);
         });
}

/// How a Linear's weight is read once the exporter has transposed it.
bool isTransposedWeight(const Graph &graph, const Tensor &tensor, const std::vector<Reader> &readers) {
  return tensor.shape.size() == 2 && std::all_of(readers.begin(), readers.end(), [&](const Reader &reader) {
           return graph.nodes[reader.node].opType == "MatMul" && reader.operand == 1;
         });
}
} // namespace

bool isGainOfNorm(const Graph &graph, const Tensor &tensor, const std::vector<Reader> &readers) {
  return tensor.shape.size() == 1 && std::all_of(readers.begin(), readers.end(), [&](const Reader &reader) {
           const Node &node = graph.nodes[reader.node];
           if (node.opType != "Mul")
             return reader.role == Role::Scale && node.opType != "BatchNormalization";
           return isNormalised(graph, node.inputs[1 - reader.operand]);
         });
}

bool isComputedByTrace(const Graph &graph, const Tensor &tensor, const std::vector<Reader> &readers) {
  if (!tensor.name.starts_with("onnx::") || isTransposedWeight(graph, tensor, readers) ||
      isGainOfNorm(graph, tensor, readers))
    return false;
  return std::any_of(graph.initializers.begin(), graph.initializers.end(),
                     [](const Tensor &other) { return isFloat(other.dtype) && isModuleName(other.name); });
}

bool isAppliedToInputs(const Graph &graph, const Tensor &tensor, const std::vector<Reader> &readers) {
  std::set<std::string> needed;
  for (const Reader &reader : readers)
    for (const std::string &operand : graph.nodes[reader.node].inputs)
      needed.insert(operand);
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node)
    if (std::any_of(node->outputs.begin(), node->outputs.end(),
                    [&](const std::string &output) { return needed.count(output) != 0; }))
      needed.insert(node->inputs.begin(), node->inputs.end());
  bool isOfInputs = std::any_of(graph.inputs.begin(), graph.inputs.end(),
                                [&](const ValueInfo &input) { return needed.count(input.name) != 0; });
  return isOfInputs && std::none_of(needed.begin(), needed.end(), [&](const std::string &value) {
           const Tensor *other = graph.initializer(value);
           return other && other->name != tensor.name && isFloat(other->dtype) && isModuleName(other->name);
         });
}

bool isNamedByTrace(const Graph &graph, const std::string &name, const std::vector<Reader> &readers) {
  return isModuleName(name) && std::all_of(readers.begin(), readers.end(), [&](const Reader &reader) {
           return graph.nodes[reader.node].name.starts_with("/");
         });
}

} // namespace accum::import
