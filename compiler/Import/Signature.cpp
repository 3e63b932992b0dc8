// SPDX-License-Identifier: Apache-2.0
// Reads lines such as `p_wte_weight: PARAMETER target='transformer.wte.weight'`.
#include "compiler/Import/Signature.h"
#include <algorithm>

namespace accum::import {
namespace {

std::string_view property(const Graph &graph, std::string_view value, std::string_view key) {
  auto find = [key](const Metadata &metadata) -> std::string_view {
    auto it = metadata.find(key);
    return it == metadata.end() ? std::string_view() : std::string_view(it->second);
  };
  if (const ValueInfo *info = graph.info(value))
    if (std::string_view found = find(info->metadata); !found.empty())
      return found;
  const Tensor *tensor = graph.initializer(value);
  return tensor ? find(tensor->metadata) : std::string_view();
}

void readLine(std::string_view line, Signature &signature) {
  constexpr std::string_view target = " target='";
  size_t begin = line.find(target);
  size_t end = begin == std::string_view::npos ? begin : line.find('\'', begin + target.size());
  if (end == std::string_view::npos)
    return;
  std::string name(line.substr(begin + target.size(), end - begin - target.size()));
  std::string_view head = line.substr(0, begin);
  constexpr std::string_view parameter = ": PARAMETER";
  if (head.ends_with(parameter)) {
    head.remove_suffix(parameter.size());
    head.remove_prefix(std::min(head.find_first_not_of(' '), head.size()));
    signature.placeholders.emplace(head, name);
    signature.parameters.push_back(std::move(name));
  } else if (head.ends_with(": BUFFER")) {
    signature.buffers.push_back(std::move(name));
  }
}
} // namespace

std::vector<std::string> quotedStrings(std::string_view list) {
  std::vector<std::string> strings;
  for (size_t open = list.find('\''); open != std::string_view::npos;) {
    size_t close = list.find('\'', open + 1);
    if (close == std::string_view::npos)
      break;
    strings.emplace_back(list.substr(open + 1, close - open - 1));
    open = list.find('\'', close + 1);
  }
  return strings;
}

Signature Signature::of(const Graph &graph) {
  Signature signature;
  auto entry = graph.metadata.find("pkg.torch.export.ExportedProgram.graph_signature");
  if (entry == graph.metadata.end())
    return signature;
  // Outputs repeat targets of mutated buffers; only inputs count.
  std::string_view text = std::string_view(entry->second).substr(0, entry->second.find("# outputs"));
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    readLine(text.substr(0, end), signature);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  for (const Tensor &tensor : graph.initializers)
    if (std::string name = signature.parameterIn(graph, tensor.name); !name.empty())
      signature.held.insert(std::move(name));
  return signature;
}

std::string Signature::parameterIn(const Graph &graph, std::string_view initializer) const {
  if (signatureKind(graph, initializer) == "PARAMETER")
    return std::string(initializer);
  std::vector<std::string> sources = foldedFrom(graph, initializer);
  std::erase_if(sources, [&](const std::string &source) { return !hasParameter(source); });
  return sources.size() == 1 ? sources.front() : "";
}

bool Signature::hasParameter(std::string_view target) const {
  return std::find(parameters.begin(), parameters.end(), target) != parameters.end();
}

std::string_view signatureKind(const Graph &graph, std::string_view initializer) {
  return property(graph, initializer, "pkg.torch.export.graph_signature.InputSpec.kind");
}

std::vector<std::string> foldedFrom(const Graph &graph, std::string_view initializer) {
  return quotedStrings(property(graph, initializer, "pkg.onnxscript.optimizer.folded_from"));
}

} // namespace accum::import
