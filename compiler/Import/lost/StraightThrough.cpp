// SPDX-License-Identifier: Apache-2.0
// z + (q - z), (q - z) + z and z - (z - q).
#include "compiler/Import/lost/StraightThrough.h"
#include "compiler/Import/parameters/Parameters.h"
#include <algorithm>
#include <fmt/format.h>

namespace accum::import {

StraightThrough::StraightThrough(const Graph &graph, std::vector<std::string> trusted)
    : producers(graph), trusted(std::move(trusted)),
      saysDetached(std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node &node) {
        return std::any_of(node.metadata.begin(), node.metadata.end(),
                           [](const auto &entry) { return entry.first.starts_with("pkg.torch."); });
      })) {}

std::optional<Refusal> StraightThrough::refusal(const Node &node) const {
  bool adds = node.opType == "Add";
  if (saysDetached || (!adds && node.opType != "Sub") || node.inputs.size() != 2)
    return std::nullopt;
  for (size_t i : adds ? std::vector<size_t>{0, 1} : std::vector<size_t>{1}) {
    const Node *difference = producers.of(node.inputs[i]);
    size_t same = adds ? 1 : 0; // the operand of the difference that the other one of the node cancels
    if (!difference || difference->opType != "Sub" || difference->inputs.size() != 2 ||
        difference->inputs[same] != node.inputs[1 - i])
      continue;
    if (std::any_of(trusted.begin(), trusted.end(),
                    [&](const std::string &pattern) { return matchesGlob(pattern, node.name); }))
      return std::nullopt;
    return Refusal{
        "lost-in-export",
        fmt::format("takes back what `{}` did, as in x + (f(x) - x).detach(), which gives the gradient of x: "
                    "the detach(), which this file cannot say, would be gone",
                    difference->name),
        {"torch.onnx.export(..., dynamo=True, optimize=False) says it",
         fmt::format("if there is none: --trust-backward '{}'", node.name)}};
  }
  return std::nullopt;
}

} // namespace accum::import
