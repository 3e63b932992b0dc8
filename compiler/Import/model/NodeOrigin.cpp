// SPDX-License-Identifier: Apache-2.0
// Where a node came from, as exporters record it.
#include "compiler/Import/lost/SourceTrace.h"
#include "compiler/Import/model/Model.h"
#include <algorithm>

namespace accum::import {
namespace {

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
  std::vector<SourceFrame> frames = sourceFrames(node);
  // A module's own forward says less than the line that calls it.
  auto ours = std::find_if(frames.rbegin(), frames.rend(), [](const SourceFrame &frame) {
    return frame.file.find("torch/nn/") == std::string_view::npos;
  });
  if (ours == frames.rend())
    return "";
  return std::string(ours->file.substr(ours->file.rfind('/') + 1)) + ":" + std::string(ours->line);
}

std::string sourceCode(const Node &node) {
  std::vector<SourceFrame> frames = sourceFrames(node);
  return frames.empty() ? "" : std::string(frames.back().code);
}

std::string modulePath(const Node &node) {
  auto entry = node.metadata.find("pkg.torch.onnx.name_scopes");
  if (entry == node.metadata.end() || entry->second.empty())
    return fromNodeName(node.name);
  std::vector<std::string> scopes = moduleScopes(node);
  return scopes.empty() ? "" : scopes.back();
}

} // namespace accum::import
