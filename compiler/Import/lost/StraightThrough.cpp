// SPDX-License-Identifier: Apache-2.0
// z + (q - z), (q + z) - z, z * (q / z), (q * z) / z, and z - z and z / z themselves.
#include "compiler/Import/lost/StraightThrough.h"
#include "compiler/Import/parameters/Parameters.h"
#include "compiler/Import/parameters/SavedConstants.h"
#include <algorithm>
#include <fmt/format.h>

namespace accum::import {
namespace {

bool tellsOfDetaching(const Graph &graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node &node) {
    return std::any_of(node.metadata.begin(), node.metadata.end(),
                       [](const auto &entry) { return entry.first.starts_with("pkg.torch."); });
  });
}

bool hasTwoOf(const Node &node) {
  return node.inputs.size() == 2 && node.domain.empty() && isOneOf(node.opType, {"Add", "Sub", "Mul", "Div"});
}

/// Its first operand less the second, or divided by it.
bool isOrdered(const Node &node) { return node.opType == "Sub" || node.opType == "Div"; }

bool adds(const Node &node) { return node.opType == "Add" || node.opType == "Sub"; }

/// `z + (q - z)`: whatever is trained, q has no gradient. `(q + c) - c` rounds.
bool isStraightThrough(const Node &node, const Node &inner) {
  return inner.opType == "Sub" && (node.opType == "Add" || node.inputs[1] == inner.outputs[0]);
}

Refusal refusalOf(const Node &node, std::string message, std::string otherFile) {
  return {"lost-in-export",
          std::move(message),
          {std::move(otherFile), fmt::format("if there is none: --trust-backward '{}'", node.name)}};
}
} // namespace

StraightThrough::StraightThrough(const Graph &graph, std::vector<std::string> trusted)
    : producers(graph), otherFile(fileThatSays(graph, "torch.onnx.export(..., dynamo=True, optimize=False)")),
      trusted(std::move(trusted)) {
  if (!tellsOfDetaching(graph))
    equal.emplace(graph);
}

bool StraightThrough::isSame(const std::string &a, const std::string &b) const {
  return equal->areEqual(a, b);
}

/// The node that gives the operand, where what it does with the other operand the given one takes back.
const Node *StraightThrough::undone(const Node &node, size_t operand) const {
  const Node *inner = producers.of(node.inputs[operand]);
  const std::string &other = node.inputs[1 - operand];
  if (!inner)
    return nullptr;
  bool isInverse = inner->inputs.size() == 1 && isSame(inner->inputs[0], other) &&
                   ((node.opType == "Add" && inner->opType == "Neg") ||
                    (node.opType == "Mul" && inner->opType == "Reciprocal"));
  if (isInverse)
    return inner;
  if (!hasTwoOf(*inner) || adds(*inner) != adds(node) ||
      (isOrdered(node) && operand == 1 && !isOrdered(*inner)))
    return nullptr;
  bool isSecond = isSame(inner->inputs[1], other), isFirst = isSame(inner->inputs[0], other);
  if (!isOrdered(node)) // z + (q - z)
    return isOrdered(*inner) && isSecond ? inner : nullptr;
  if (operand == 1) // z - (z - q)
    return isFirst ? inner : nullptr;
  return !isOrdered(*inner) && (isFirst || isSecond) ? inner : nullptr; // (q + z) - z
}

std::optional<Refusal>
StraightThrough::refusal(const Node &node, const std::function<bool(const std::string &)> &isTrained) const {
  bool isTrusted = std::any_of(trusted.begin(), trusted.end(),
                               [&](const std::string &pattern) { return matchesGlob(pattern, node.name); });
  if (!equal || !hasTwoOf(node) || isTrusted)
    return std::nullopt;
  if (isOrdered(node) && isTrained(node.inputs[0]) && isSame(node.inputs[0], node.inputs[1]))
    return refusalOf(node,
                     fmt::format("has two equal operands, as in {}, which has a gradient: here it has "
                                 "none, and the detach(), which this file cannot say, would be gone",
                                 adds(node) ? "x - x.detach()" : "x / x.detach()"),
                     otherFile);
  for (size_t operand : {size_t{0}, size_t{1}})
    if (const Node *inner = undone(node, operand);
        inner && (isStraightThrough(node, *inner) || isTrained(node.inputs[1 - operand])))
      return refusalOf(node,
                       fmt::format("takes back what `{}` did, as in x + (f(x) - x).detach(), which gives the "
                                   "gradient of x: the detach(), which this file cannot say, would be gone",
                                   inner->name),
                       otherFile);
  return std::nullopt;
}

} // namespace accum::import
