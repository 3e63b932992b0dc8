// SPDX-License-Identifier: Apache-2.0
// Which constants are weights, by who reads them and by their names.
#include "compiler/Import/parameters/ConstantWeights.h"
#include "compiler/Import/model/Readers.h"
#include "compiler/Import/parameters/ModuleNames.h"
#include "compiler/Import/parameters/SavedConstants.h"
#include <algorithm>

namespace accum::import {
namespace {

/// The value of a Constant node that a step could train; null for other nodes.
const Tensor *trainableValue(const Node &node) {
  if (node.opType != "Constant" || !node.domain.empty() || node.outputs.empty() || node.outputs[0].empty())
    return nullptr;
  const auto *tensor = node.attribute<Tensor>("value");
  return tensor && isFloat(tensor->dtype) && tensor->elementCount() > 0 ? tensor : nullptr;
}

/// `fc.weight`; of an export that tells its parameters one of those.
bool hasNameOfParameter(const Signature &signature, const std::string &name) {
  if (!signature.isEmpty())
    return signature.hasParameter(name);
  return isModuleName(name) && name.find('.') != std::string::npos && !isNameOfTool(name);
}
} // namespace

std::vector<std::string> liftConstants(Graph &graph, const Signature &signature,
                                       const std::vector<std::string> &asked, bool all) {
  const Readers readers(graph);
  std::vector<std::string> lifted;
  auto isLifted = [&](const Node &node) {
    const Tensor *value = trainableValue(node);
    if (!value)
      return false;
    const std::string &name = node.outputs[0];
    if (std::find(asked.begin(), asked.end(), name) != asked.end())
      return true;
    bool isNumber = value->elementCount() == 1 || isNameOfTool(name);
    bool isParameter = all || (isReadAsWeight(readers.of(name)) && hasNameOfParameter(signature, name));
    if (!isNumber && isParameter)
      lifted.push_back(name);
    return !isNumber && isParameter;
  };
  std::vector<Node> kept;
  kept.reserve(graph.nodes.size());
  std::vector<bool> isWeight;
  for (const Node &node : graph.nodes)
    isWeight.push_back(isLifted(node));
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    Node &node = graph.nodes[i];
    if (!isWeight[i]) {
      kept.push_back(std::move(node));
      continue;
    }
    Tensor tensor = *trainableValue(node);
    tensor.name = node.outputs[0];
    graph.addInitializer(std::move(tensor));
  }
  graph.nodes = std::move(kept);
  return lifted;
}

} // namespace accum::import
