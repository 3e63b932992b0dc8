// SPDX-License-Identifier: Apache-2.0
// What an exporter dropped without a word, where the metadata that it leaves behind betrays it.
#include "compiler/Import/LostInExport.h"
#include <cstdlib>
#include <fmt/format.h>
#include <regex>
#include <set>

namespace accum::import {

std::optional<Failure> lostBatchNorm(const Graph &graph) {
  auto entry = graph.metadata.find("pkg.torch.export.ExportedProgram.graph_signature");
  if (entry == graph.metadata.end())
    return std::nullopt;
  static const std::regex mutation("BUFFER_MUTATION target='([^']*)\\.running_(mean|var)'");
  std::set<std::string> modules;
  for (std::sregex_iterator it(entry->second.begin(), entry->second.end(), mutation), end; it != end; ++it)
    modules.insert((*it)[1]);
  if (modules.empty())
    return std::nullopt;
  return Failure{
      "cross-batch",
      "`" + *modules.begin() + "`",
      "was batch normalisation in training mode (" + std::to_string(modules.size()) +
          " such modules), which the exporter silently replaced by its evaluation form: the graph does "
          "not compute the loss of the model",
      {"to train with frozen statistics: export after model.eval(), scale and bias still train",
       "or use GroupNorm"}};
}

/// The fifth argument of `aten.scaled_dot_product_attention`; 0 for all else.
static double attentionDropout(const Node &node) {
  auto entry = node.metadata.find("pkg.torch.onnx.fx_node");
  if (entry == node.metadata.end())
    return 0;
  static const std::regex call(
      R"(scaled_dot_product_attention\.default\]\(args = \((?:[^,()]+, ){4}([0-9.e+-]+)[,)])");
  std::smatch match;
  return std::regex_search(entry->second, match, call) ? std::strtod(match[1].str().c_str(), nullptr) : 0;
}

std::optional<std::string> lostDropout(const Graph &graph) {
  double lost = 0;
  for (const Node &node : graph.nodes)
    if (double dropped = attentionDropout(node); dropped > 0) {
      if (node.opType == "Dropout")
        return std::nullopt;
      lost = dropped;
    }
  if (lost == 0)
    return std::nullopt;
  return fmt::format("dropout {} on attention probabilities is not in the file: the exporter leaves that of "
                     "scaled_dot_product_attention out; attn_implementation=\"eager\" keeps it",
                     lost);
}

} // namespace accum::import
