// SPDX-License-Identifier: Apache-2.0
// The lines of the model's source that a node comes from, outermost first, where the exporter kept them
// (`pkg.torch.onnx.stack_trace`): of functions called `forward` alone, as the dynamo exporter mostly keeps
// them.
#pragma once
#include "compiler/Import/model/Model.h"

namespace accum::import {

struct SourceFrame {
  std::string_view file;
  std::string_view line;     ///< its number
  std::string_view function; ///< `forward`
  std::string_view code;     ///< what the line says, or ""
};

/// Views into the node's metadata.
std::vector<SourceFrame> sourceFrames(const Node &node);
/// How many frames the trace has, of functions of any name.
size_t countFrames(const Node &node);
/// Modules that the node is in, outermost first, as `pkg.torch.onnx.name_scopes` says: `''`, `h`, `h.0`.
/// Empty for nodes that the exporter put in.
std::vector<std::string> moduleScopes(const Node &node);

} // namespace accum::import
