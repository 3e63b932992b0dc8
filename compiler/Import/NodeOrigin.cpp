// SPDX-License-Identifier: Apache-2.0
// Where a node came from, as exporters record it.
#include "compiler/Import/Model.h"
#include "compiler/Import/Signature.h"
#include <algorithm>

namespace accum::import {
namespace {

std::string_view lookUp(const Metadata &metadata, std::string_view key) {
  auto it = metadata.find(key);
  return it == metadata.end() ? std::string_view() : std::string_view(it->second);
}

/// `  File "/x/modeling_gpt2.py", line 312, in forward` -> `modeling_gpt2.py:312`; "" for another line.
std::string frame(std::string_view line) {
  constexpr std::string_view open = "File \"", middle = "\", line ";
  size_t file = line.find(open), end = line.find(middle);
  if (file == std::string_view::npos || end == std::string_view::npos || end < file)
    return "";
  std::string_view path = line.substr(file + open.size(), end - file - open.size());
  std::string_view number = line.substr(end + middle.size());
  number = number.substr(0, number.find_first_not_of("0123456789"));
  if (path.find("torch/nn/") != std::string_view::npos)
    return ""; // the module's own forward says less than the line that calls it
  size_t slash = path.rfind('/');
  return std::string(path.substr(slash == std::string_view::npos ? 0 : slash + 1)) + ":" +
         std::string(number);
}

/// The last quoted string but one of `['', 'transformer', 'transformer.h.0', 'linear_1']`.
std::string innermostScope(std::string_view list) {
  std::vector<std::string> scopes = quotedStrings(list);
  // The exporter's own shape checks have a scope that is no module.
  constexpr std::string_view noModule = "_empty_nn_module_stack_from_metadata_hook";
  return scopes.size() < 2 || scopes.front() == noModule ? "" : scopes[scopes.size() - 2];
}

/// `/transformer/h.0/attn/c_attn/Gemm` -> `transformer.h.0.attn.c_attn`: the TorchScript exporter's node
/// names.
std::string fromNodeName(std::string_view name) {
  size_t end = name.rfind('/');
  if (name.empty() || name.front() != '/' || end == 0)
    return "";
  std::string path(name.substr(1, end - 1));
  std::replace(path.begin(), path.end(), '/', '.');
  return path;
}
} // namespace

std::string sourceLine(const Node &node) {
  std::string_view trace = lookUp(node.metadata, "pkg.torch.onnx.stack_trace");
  std::string innermost;
  while (!trace.empty()) {
    size_t end = trace.find('\n');
    if (std::string found = frame(trace.substr(0, end)); !found.empty())
      innermost = std::move(found);
    trace = end == std::string_view::npos ? std::string_view() : trace.substr(end + 1);
  }
  return innermost;
}

std::string sourceCode(const Node &node) {
  std::string_view trace = lookUp(node.metadata, "pkg.torch.onnx.stack_trace");
  size_t end = trace.find_last_not_of(" \n");
  if (end == std::string_view::npos)
    return "";
  trace = trace.substr(0, end + 1);
  std::string_view line = trace.substr(trace.rfind('\n') + 1);
  return frame(line).empty() ? std::string(line.substr(line.find_first_not_of(' '))) : "";
}

std::string modulePath(const Node &node) {
  std::string_view scopes = lookUp(node.metadata, "pkg.torch.onnx.name_scopes");
  return scopes.empty() ? fromNodeName(node.name) : innermostScope(scopes);
}

} // namespace accum::import
