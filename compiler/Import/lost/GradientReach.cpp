// SPDX-License-Identifier: Apache-2.0
// One walk against the order of the nodes.
#include "compiler/Import/lost/GradientReach.h"
#include "compiler/Import/lost/GradientMarks.h"
#include <algorithm>

namespace accum::import {
namespace {

bool isConstantInPieces(const Node &node) {
  return isOneOf(node.opType,
                 {"And",   "ArgMax", "ArgMin", "Ceil",        "Equal",   "Floor", "Greater", "GreaterOrEqual",
                  "IsInf", "IsNaN",  "Less",   "LessOrEqual", "NonZero", "Not",   "OneHot",  "Or",
                  "Round", "Shape",  "Sign",   "Xor"});
}

bool isCastToOthers(const Node &node) {
  const auto *to = node.opType == "Cast" ? node.attribute<int64_t>("to") : nullptr;
  return to && !isFloat(dtypeFromNumber(*to).value_or(DType::Undefined));
}
} // namespace

GradientReach::GradientReach(const Graph &graph, const std::vector<std::string> &outputs)
    : reached(outputs.begin(), outputs.end()) {
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node)
    if (passes(*node))
      reached.insert(node->inputs.begin(), node->inputs.end());
}

bool GradientReach::passes(const Node &node) const {
  if (isConstantInPieces(node) || isCastToOthers(node) || isDetach(node))
    return false;
  // The other result of a TopK is indices.
  auto end = node.outputs.begin() +
             (node.opType == "TopK" && !node.outputs.empty() ? 1 : ptrdiff_t(node.outputs.size()));
  return std::any_of(node.outputs.begin(), end, [&](const std::string &output) {
    return !output.empty() && reached.count(output) != 0;
  });
}

} // namespace accum::import
