// SPDX-License-Identifier: Apache-2.0
// Reads Python's text of a stack.
#include "compiler/Import/lost/SourceTrace.h"
#include "compiler/Import/parameters/Signature.h"
#include <algorithm>

namespace accum::import {
namespace {

std::string_view lookUp(const Node &node, std::string_view key) {
  auto entry = node.metadata.find(key);
  return entry == node.metadata.end() ? std::string_view() : std::string_view(entry->second);
}

/// `  File "/x/modeling_gpt2.py", line 312, in forward`; no file for another line.
SourceFrame frame(std::string_view text) {
  constexpr std::string_view open = "File \"", middle = "\", line ", last = ", in ";
  size_t file = text.find(open), number = text.find(middle);
  if (file == std::string_view::npos || number == std::string_view::npos || number < file)
    return {};
  SourceFrame frame;
  frame.file = text.substr(file + open.size(), number - file - open.size());
  std::string_view rest = text.substr(number + middle.size());
  frame.line = rest.substr(0, rest.find_first_not_of("0123456789"));
  if (size_t function = rest.find(last); function != std::string_view::npos)
    frame.function = rest.substr(function + last.size());
  return frame;
}

/// What torch.export leaves out itself, unless it has to trace the bytecode (its strict mode).
bool isNoForward(const SourceFrame &frame) {
  return (!frame.function.empty() && frame.function != "forward") ||
         frame.file.find("torch/_dynamo/") != std::string_view::npos;
}
} // namespace

std::vector<SourceFrame> sourceFrames(const Node &node) {
  std::string_view trace = lookUp(node, "pkg.torch.onnx.stack_trace");
  std::vector<SourceFrame> frames;
  while (!trace.empty()) {
    size_t end = trace.find('\n');
    std::string_view line = trace.substr(0, end);
    size_t code = line.find_first_not_of(' ');
    if (SourceFrame found = frame(line); !found.file.empty())
      frames.push_back(found);
    else if (code != std::string_view::npos && !frames.empty() && frames.back().code.empty())
      frames.back().code = line.substr(code, line.find_last_not_of(' ') + 1 - code); // below it, ^^^^
    trace = end == std::string_view::npos ? std::string_view() : trace.substr(end + 1);
  }
  std::erase_if(frames, isNoForward);
  return frames;
}

size_t countFrames(const Node &node) {
  constexpr std::string_view begin = "File \"";
  std::string_view trace = lookUp(node, "pkg.torch.onnx.stack_trace");
  size_t count = 0;
  for (size_t at = trace.find(begin); at != std::string_view::npos; at = trace.find(begin, at + 1))
    ++count;
  return count;
}

std::vector<std::string> moduleScopes(const Node &node) {
  std::vector<std::string> scopes = quotedStrings(lookUp(node, "pkg.torch.onnx.name_scopes"));
  // The exporter's own shape checks have a scope that is no module.
  if (!scopes.empty() && scopes.front() == "_empty_nn_module_stack_from_metadata_hook")
    return {};
  if (!scopes.empty())
    scopes.pop_back(); // the node itself
  return scopes;
}

} // namespace accum::import
