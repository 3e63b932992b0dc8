// SPDX-License-Identifier: Apache-2.0
// Reads Python's text of a call.
#include "compiler/Import/lost/TracedCall.h"
#include <algorithm>
#include <cctype>

namespace accum::import {
namespace {

/// The part of `text` between `open` and the bracket that closes it; `open` ends in that bracket.
std::string_view enclosed(std::string_view text, std::string_view open) {
  size_t begin = text.find(open);
  if (begin == std::string_view::npos)
    return {};
  text.remove_prefix(begin + open.size());
  int depth = 1;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quote != 0 || c == '\'' || c == '"')
      quote = quote == 0 ? c : c == quote ? '\0' : quote;
    else if (std::string_view("([{").find(c) != std::string_view::npos)
      ++depth;
    else if (std::string_view(")]}").find(c) != std::string_view::npos && --depth == 0)
      return text.substr(0, i);
  }
  return {};
}

/// `a, [b, c], d` in its three parts.
std::vector<std::string_view> partsOf(std::string_view list) {
  std::vector<std::string_view> parts;
  int depth = 0;
  char quote = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= list.size(); ++i) {
    char c = i < list.size() ? list[i] : ',';
    if (quote != 0 || c == '\'' || c == '"')
      quote = quote == 0 ? c : c == quote ? '\0' : quote;
    else if (std::string_view("([{").find(c) != std::string_view::npos)
      ++depth;
    else if (std::string_view(")]}").find(c) != std::string_view::npos)
      --depth;
    else if (c == ',' && depth == 0) {
      std::string_view part = list.substr(begin, i - begin);
      part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
      if (!part.empty())
        parts.push_back(part);
      begin = i + 1;
    }
  }
  return parts;
}

void collectValues(std::string_view text, std::vector<std::string> &names) {
  auto endsName = [](char c) { return c != '_' && std::isalnum(static_cast<unsigned char>(c)) == 0; };
  for (size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
    auto begin = text.begin() + static_cast<ptrdiff_t>(at) + 1;
    names.emplace_back(begin, std::find_if(begin, text.end(), endsName));
  }
}
} // namespace

std::optional<TracedCall> TracedCall::of(const Node &node) {
  auto entry = node.metadata.find("pkg.torch.onnx.fx_node");
  if (entry == node.metadata.end())
    return std::nullopt;
  std::string_view text = entry->second;
  size_t colon = text.find(" : "), end = text.find("](args = (");
  constexpr std::string_view target = "[target=", operators = "torch.ops.";
  size_t begin = text.find(target);
  if (text.empty() || text[0] != '%' || colon == std::string_view::npos || end == std::string_view::npos ||
      begin == std::string_view::npos || begin > end)
    return std::nullopt;
  TracedCall call;
  call.result = text.substr(1, colon - 1);
  std::string_view name = text.substr(begin + target.size(), end - begin - target.size());
  call.target = name.starts_with(operators) ? name.substr(operators.size()) : name;
  text.remove_prefix(end);
  for (std::string_view part : partsOf(enclosed(text, "](args = (")))
    call.arguments.emplace_back(part);
  for (std::string_view part : partsOf(enclosed(text, "kwargs = {")))
    if (size_t middle = part.find(": "); middle != std::string_view::npos)
      call.keywords.emplace(part.substr(0, middle), part.substr(middle + 2));
  return call;
}

std::string_view TracedCall::argument(size_t position, std::string_view keyword) const {
  if (position < arguments.size())
    return arguments[position];
  auto entry = keywords.find(keyword);
  return entry == keywords.end() ? std::string_view() : std::string_view(entry->second);
}

std::string_view TracedCall::operation() const {
  std::string_view name = target;
  name = name.substr(std::min(name.find('.') + 1, name.size()));
  return name.substr(0, name.find('.'));
}

std::vector<std::string> TracedCall::operands() const {
  bool hasExtents = isOneOf(operation(), {"view", "_unsafe_view", "reshape", "expand", "slice", "select",
                                          "repeat", "narrow", "unflatten", "as_strided"});
  std::vector<std::string> names;
  for (const std::string &argument : arguments) {
    collectValues(argument, names);
    if (hasExtents)
      return names;
  }
  for (const auto &[keyword, argument] : keywords)
    collectValues(argument, names);
  return names;
}

std::string_view withoutNumber(std::string_view result) {
  size_t end = result.find_last_not_of("0123456789");
  bool isNumbered = end != std::string_view::npos && end > 0 && end + 1 < result.size() && result[end] == '_';
  return isNumbered ? result.substr(0, end) : result;
}

} // namespace accum::import
