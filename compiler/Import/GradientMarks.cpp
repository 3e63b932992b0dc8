// SPDX-License-Identifier: Apache-2.0
// Reads `%y : [num_users=1] = call_function[target=torch.ops.aten.NAME](args = (%a, 1, ...), kwargs = {})`.
#include "compiler/Import/GradientMarks.h"
#include <charconv>
#include <regex>

namespace accum::import {

static std::string_view tracedCall(const Node &node) {
  auto entry = node.metadata.find("pkg.torch.onnx.fx_node");
  return entry == node.metadata.end() ? std::string_view() : std::string_view(entry->second);
}

std::optional<int64_t> paddingRow(const Node &node) {
  std::string_view call = tracedCall(node);
  constexpr std::string_view start = "[target=torch.ops.aten.embedding.default](args = (";
  size_t from = node.opType == "Gather" ? call.find(start) : std::string_view::npos;
  if (from == std::string_view::npos)
    return std::nullopt;
  std::string_view arguments = call.substr(from + start.size());
  arguments = arguments.substr(0, arguments.find(')'));
  size_t second = arguments.find(", "), third = arguments.find(", ", second + 1);
  if (second == std::string_view::npos || third == std::string_view::npos)
    return std::nullopt;
  std::string_view text = arguments.substr(third + 2);
  int64_t row = -1;
  std::from_chars(text.data(), text.data() + text.size(), row);
  return row >= 0 ? std::optional(row) : std::nullopt; // -1: none
}

bool isDetach(const Node &node) {
  return node.opType == "Identity" &&
         tracedCall(node).find("[target=torch.ops.aten.detach.default]") != std::string_view::npos;
}

bool readsDetached(const Node &node) {
  std::string_view call = tracedCall(node);
  size_t arguments = call.find("](args = ");
  if (arguments == std::string_view::npos)
    return false;
  // `%detach_` is another call: the in-place one, with which constants are made.
  static const std::regex value("%detach(_[0-9]+)?[^A-Za-z0-9_]");
  return std::regex_search(call.begin() + static_cast<std::ptrdiff_t>(arguments), call.end(), value);
}

} // namespace accum::import
