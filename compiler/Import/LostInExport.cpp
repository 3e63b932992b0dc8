// SPDX-License-Identifier: Apache-2.0
// What an exporter dropped without a word, where the metadata that it leaves behind betrays it.
#include "compiler/Import/LostInExport.h"
#include <cstdlib>
#include <fmt/format.h>
#include <regex>
#include <set>

namespace accum::import {

/// The dynamo exporter writes training-mode batch normalisation in its evaluation form: the graph computes
/// another loss than the model did, and only the signature tells that running statistics were updated.
static std::optional<Failure> lostBatchNorm(const Graph &graph) {
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

/// The sixth argument of `aten.cross_entropy_loss`, which ONNX's operator has not; "" where there is none.
static std::string smoothingOf(const Node &node) {
  auto entry = node.metadata.find("pkg.torch.onnx.fx_node");
  if (entry == node.metadata.end())
    return "";
  static const std::regex call(R"(cross_entropy_loss\.default\]\(args = \((?:[^,()]+, ){5}([0-9.e+-]+)\))");
  std::smatch match;
  return std::regex_search(entry->second, match, call) ? match[1].str() : "";
}

/// PyTorch's formula of the call: class weights enter both terms, and the divisor.
static std::string smoothingWritten(const Node &node) {
  bool weighted = node.inputs.size() > 2 && !node.inputs[2].empty();
  const std::string *reduction = node.attribute<std::string>("reduction");
  std::string text = weighted ? "(1 - e) * w[y] * nll - e * (w * log_softmax(logits)).mean(-1)"
                              : "(1 - e) * nll - e * log_softmax(logits).mean(-1)";
  if (reduction && *reduction == "none")
    return text;
  text += ", summed over the counted targets";
  if (reduction && *reduction == "sum")
    return text;
  return text + (weighted ? " y and divided by the sum of w over them" : " and divided by their number");
}

static std::optional<Failure> lostSmoothing(const Graph &graph) {
  for (const Node &node : graph.nodes) {
    std::string smoothing = node.opType == "SoftmaxCrossEntropyLoss" ? smoothingOf(node) : "";
    if (!smoothing.empty() && std::strtod(smoothing.c_str(), nullptr) != 0)
      return Failure{
          "unsupported",
          backquoted(node.name),
          "had label_smoothing = " + smoothing +
              ", which the exporter silently left out: the graph does not compute the loss of the model",
          {"write it out in the model: " + smoothingWritten(node), "or export without label smoothing"}};
  }
  return std::nullopt;
}

std::optional<Failure> lostInExport(const Graph &graph) {
  std::optional<Failure> lost = lostBatchNorm(graph);
  return lost ? lost : lostSmoothing(graph);
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
