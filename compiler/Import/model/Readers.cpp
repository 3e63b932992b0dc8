// SPDX-License-Identifier: Apache-2.0
// Operands of ONNX operators, by what they mean.
#include "compiler/Import/model/Readers.h"
#include <algorithm>

namespace accum::import {
namespace {

/// Operands of a gradient that exports mostly fill with numbers.
bool isLimit(std::string_view op, size_t operand) {
  if (isOneOf(op, {"Clip", "Pow", "Mod"}))
    return operand > 0;
  return operand == 2 && isOneOf(op, {"ScatterND", "ScatterElements"});
}

Role normRole(std::string_view op, size_t operand) {
  if (operand == 1)
    return Role::Scale;
  if (operand == 2)
    return Role::Bias;
  return op == "BatchNormalization" && operand > 2 ? Role::Statistic : Role::Operand;
}

Role roleOf(const Node &node, size_t operand) {
  std::string_view op = node.opType;
  if (isOneOf(op, {"MatMul", "Gemm", "Conv", "ConvTranspose"}))
    return operand == 2 ? Role::Bias : Role::Matrix;
  if (op.ends_with("Normalization") && op != "LpNormalization")
    return normRole(op, operand);
  if (isOneOf(op, {"Gather", "GatherElements", "GatherND"}))
    return operand == 0 ? Role::Table : Role::Control;
  if (isOneOf(op, {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"}))
    return operand == 2 ? Role::Statistic : Role::Operand; // class weights
  if (op == "Where")
    return operand == 0 ? Role::Control : Role::Operand;
  if (isLimit(op, operand))
    return Role::Limit;
  if (isOneOf(op, {"Clip", "Pad", "Pow", "Dropout", "Slice", "Reshape", "Expand", "Tile", "Unsqueeze",
                   "Squeeze", "Split", "ReduceSum", "ReduceMean", "Trilu", "CumSum", "TopK", "ScatterND",
                   "ScatterElements", "Resize"}))
    return operand == 0 ? Role::Operand : Role::Control;
  if (isOneOf(op, {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Range", "ConstantOfShape",
                   "OneHot", "Upsample", "Shape", "Size", "QuantizeLinear", "DequantizeLinear", "If", "Loop",
                   "Scan"}))
    return Role::Control;
  return Role::Operand;
}
} // namespace

bool isViewOfFirst(const Node &node) {
  return !node.outputs.empty() &&
         isOneOf(node.opType, {"Identity", "Cast", "CastLike", "Transpose", "Reshape", "Unsqueeze", "Squeeze",
                               "Flatten", "Expand", "Tile", "Slice"});
}

Readers::Readers(const Graph &graph) : graph(graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (size_t operand = 0; operand < graph.nodes[i].inputs.size(); ++operand)
      if (!graph.nodes[i].inputs[operand].empty())
        uses[graph.nodes[i].inputs[operand]].push_back({i, operand});
}

std::vector<Reader> Readers::of(const std::string &value) const {
  std::vector<Reader> found;
  // (value, the reader of the initializer that it came through); nodes are in topological order: this ends.
  struct Step {
    std::string value;
    const Use *first;
  };
  std::vector<Step> pending{{value, nullptr}};
  while (!pending.empty()) {
    Step step = std::move(pending.back());
    pending.pop_back();
    auto readers = uses.find(step.value);
    if (readers == uses.end())
      continue;
    for (const Use &use : readers->second) {
      const Node &node = graph.nodes[use.node];
      const Use *first = step.first ? step.first : &use;
      if (use.operand == 0 && isViewOfFirst(node))
        pending.push_back({node.outputs[0], first});
      else
        found.push_back({use.node, use.operand, roleOf(node, use.operand), first->node, first->operand});
    }
  }
  std::sort(found.begin(), found.end(), [](const Reader &a, const Reader &b) {
    return std::tie(a.node, a.operand, a.first) < std::tie(b.node, b.operand, b.first);
  });
  return found;
}

std::string moduleNameOf(const Graph &graph, const Reader &reader) {
  const Node &node = graph.nodes[reader.node];
  std::string module = modulePath(node);
  if (module.empty())
    module = modulePath(graph.nodes[reader.first]);
  if (module.empty())
    return "";
  bool isOfBatchNorm = node.opType == "BatchNormalization" && reader.role == Role::Statistic;
  if (isOfBatchNorm)
    return module + (reader.operand == 3 ? ".running_mean" : ".running_var");
  bool isBias = reader.role == Role::Bias || (reader.role == Role::Operand && node.opType == "Add");
  return module + (isBias ? ".bias" : ".weight");
}

} // namespace accum::import
