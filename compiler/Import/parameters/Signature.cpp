// SPDX-License-Identifier: Apache-2.0
// Reads lines such as `p_wte_weight: PARAMETER target='transformer.wte.weight'`.
#include "compiler/Import/parameters/Signature.h"
#include "compiler/Import/parameters/ModuleNames.h"
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

/// `c` of `b_c: BUFFER target='c' persistent=True`, or "".
std::string targetOf(std::string_view line) {
  constexpr std::string_view target = " target='";
  size_t begin = line.find(target);
  size_t end = begin == std::string_view::npos ? begin : line.find('\'', begin + target.size());
  return end == std::string_view::npos
             ? ""
             : std::string(line.substr(begin + target.size(), end - begin - target.size()));
}

/// A line in two: name and kind, `p_w` and `PARAMETER`.
std::pair<std::string_view, std::string_view> nameAndKind(std::string_view line) {
  size_t begin = line.find_first_not_of(' '), colon = line.find(": ");
  if (colon == std::string_view::npos || begin > colon)
    return {};
  std::string_view kind = line.substr(colon + 2);
  return {line.substr(begin, colon - begin), kind.substr(0, kind.find(' '))};
}

void readInput(std::string_view line, Signature &signature) {
  auto [name, kind] = nameAndKind(line);
  if (name.empty())
    return;
  signature.inputs.emplace(name);
  std::string target = targetOf(line);
  if (kind == "PARAMETER" && !target.empty()) {
    signature.placeholders.emplace(name, target);
    signature.parameters.push_back(std::move(target));
  } else if (kind == "BUFFER" && !target.empty()) {
    signature.bufferPlaceholders.emplace(name, target);
    if (line.find(" persistent=True") != std::string_view::npos)
      signature.persistent.push_back(target);
    signature.buffers.push_back(std::move(target));
  }
}

void readOutput(std::string_view line, Signature &signature) {
  using Kind = StateUpdate::Kind;
  static const std::map<std::string_view, Kind> kinds{{"BUFFER_MUTATION", Kind::Buffer},
                                                      {"PARAMETER_MUTATION", Kind::Parameter},
                                                      {"USER_INPUT_MUTATION", Kind::Input}};
  auto kind = kinds.find(nameAndKind(line).second);
  if (std::string target = targetOf(line); kind != kinds.end() && !target.empty())
    signature.updates.push_back({kind->second, std::move(target)});
}

void readLines(std::string_view text, Signature &signature, void (*read)(std::string_view, Signature &)) {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    read(text.substr(0, end), signature);
    text.remove_prefix(std::min(end + 1, text.size()));
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
  std::string_view text = entry->second;
  size_t outputs = std::min(text.find("# outputs"), text.size());
  readLines(text.substr(0, outputs), signature, readInput);
  readLines(text.substr(outputs), signature, readOutput);
  for (const Tensor &tensor : graph.initializers)
    if (std::string name = signature.parameterIn(graph, tensor.name); !name.empty())
      signature.held.insert(std::move(name));
  return signature;
}

std::string_view Signature::kindOf(const Graph &graph, std::string_view initializer) const {
  std::string_view kind = signatureKind(graph, initializer);
  if (!kind.empty() || !foldedFrom(graph, initializer).empty())
    return kind;
  if (hasParameter(initializer))
    return "PARAMETER";
  return std::find(buffers.begin(), buffers.end(), initializer) != buffers.end() ? "BUFFER" : "";
}

std::string Signature::parameterIn(const Graph &graph, std::string_view initializer) const {
  if (kindOf(graph, initializer) == "PARAMETER")
    return targetOf(graph, initializer);
  std::vector<std::string> sources = foldedFrom(graph, initializer);
  std::erase_if(sources, [&](const std::string &source) { return !hasParameter(source); });
  return sources.size() == 1 ? sources.front() : "";
}

std::string Signature::targetOf(const Graph &graph, std::string_view initializer) const {
  std::string_view placeholder = property(graph, initializer, "pkg.torch.onnx.original_node_name");
  bool isOwn = hasParameter(initializer) || !property(graph, initializer, kParameterKey).empty();
  auto target = isOwn ? placeholders.end() : placeholders.find(placeholder);
  return target == placeholders.end() ? std::string(initializer) : target->second;
}

bool Signature::hasParameter(std::string_view target) const {
  return std::find(parameters.begin(), parameters.end(), target) != parameters.end();
}

std::vector<std::string> Signature::stateNames() const {
  std::vector<std::string> names = parameters;
  names.insert(names.end(), persistent.begin(), persistent.end());
  return names;
}

bool isInStateDict(const Graph &graph, const Signature &signature, std::string_view initializer) {
  if (signature.isEmpty() && signatureKind(graph, initializer).empty())
    return isModuleName(initializer);
  std::vector<std::string> names = signature.stateNames();
  return std::find(names.begin(), names.end(), initializer) != names.end();
}

std::string_view signatureKind(const Graph &graph, std::string_view initializer) {
  return property(graph, initializer, kSignatureKind);
}

std::vector<std::string> foldedFrom(const Graph &graph, std::string_view initializer) {
  return quotedStrings(property(graph, initializer, "pkg.onnxscript.optimizer.folded_from"));
}

} // namespace accum::import
