// SPDX-License-Identifier: Apache-2.0
// Reads `%y : [num_users=1] = call_function[target=torch.ops.aten.NAME](args = (%a, 1, ...), kwargs = {})`.
#include "compiler/Import/GradientMarks.h"
#include <algorithm>
#include <cctype>
#include <charconv>

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

bool isClamp(const Node &node) {
  return node.inputs.size() == 2 &&
         tracedCall(node).find("[target=torch.ops.aten.clamp.") != std::string_view::npos;
}

bool isSafeSoftmax(const Node &node) {
  std::string_view call = tracedCall(node);
  constexpr std::string_view target = "[target=torch.ops.aten.";
  size_t name = call.find(target);
  if (node.opType != "Softmax" || name == std::string_view::npos)
    return false;
  call = call.substr(name + target.size());
  return call.starts_with("scaled_dot_product_") || call.starts_with("_scaled_dot_product_") ||
         call.starts_with("_safe_softmax");
}

static std::string_view argumentsOf(const Node &node) {
  std::string_view call = tracedCall(node);
  size_t arguments = call.find("](args = ");
  return arguments == std::string_view::npos ? std::string_view() : call.substr(arguments);
}

std::vector<std::string> valuesRead(const Node &node) {
  std::string_view arguments = argumentsOf(node);
  auto endsName = [](char c) { return c != '_' && !std::isalnum(static_cast<unsigned char>(c)); };
  std::vector<std::string> names;
  for (size_t at = arguments.find('%'); at != std::string_view::npos; at = arguments.find('%', at + 1)) {
    auto begin = arguments.begin() + static_cast<ptrdiff_t>(at) + 1;
    names.emplace_back(begin, std::find_if(begin, arguments.end(), endsName));
  }
  return names;
}

} // namespace accum::import
