// SPDX-License-Identifier: Apache-2.0
// The lexical side of a Problem's text.
#include "compiler/Planner/Problem/ProblemLine.h"
#include "base/Utf8.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace accum::planner {

namespace {

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }

Error complaint(std::string what) { return {std::move(what), "malformed-problem"}; }

/// Reads what follows the opening quote, up to and with the closing one.
Status readQuoted(std::string_view &rest, std::string &value) {
  while (!rest.empty() && rest.front() != '"') {
    char c = rest.front();
    rest.remove_prefix(1);
    if (c != '\\') {
      value += c;
      continue;
    }
    unsigned code = 0;
    if (!rest.empty() && (rest.front() == '"' || rest.front() == '\\')) {
      value += rest.front();
      rest.remove_prefix(1);
    } else if (rest.size() >= 3 && rest.front() == 'x' &&
               std::from_chars(rest.data() + 1, rest.data() + 3, code, 16).ptr == rest.data() + 3) {
      value += static_cast<char>(code);
      rest.remove_prefix(3);
    } else {
      return complaint("unknown escape in a quoted text; \\\", \\\\ and \\xHH are known");
    }
  }
  if (rest.empty())
    return complaint("a quoted text has no end");
  rest.remove_prefix(1);
  if (!rest.empty() && !isSpace(rest.front()))
    return complaint("a quoted text is followed by something other than white space");
  return {};
}

Status readField(std::string_view &rest, Field &field, std::deque<std::string> &unquoted) {
  size_t end = 0;
  while (end < rest.size() && !isSpace(rest[end]) && rest[end] != '"' && rest[end] != '=')
    ++end;
  if (end < rest.size() && rest[end] == '=') {
    field.key = rest.substr(0, end);
    if (field.key.empty())
      return complaint("a value has no key before its `=`");
    rest.remove_prefix(end + 1);
    for (end = 0; end < rest.size() && !isSpace(rest[end]) && rest[end] != '"';)
      ++end;
  }
  if (end == 0 && !rest.empty() && rest.front() == '"') {
    rest.remove_prefix(1);
    Status status = readQuoted(rest, unquoted.emplace_back());
    field.value = unquoted.back();
    return status;
  }
  if (end < rest.size() && rest[end] == '"')
    return complaint("a quote stands inside a word");
  field.value = rest.substr(0, end);
  rest.remove_prefix(end);
  return {};
}

/// Looks at all of it, so that compilers may look at many at a time.
bool isAscii(std::string_view text) {
  unsigned char seen = 0;
  for (char c : text)
    seen |= static_cast<unsigned char>(c);
  return seen < 128;
}

} // namespace

Status splitLine(std::string_view line, Words &words) {
  words.fields.clear();
  words.unquoted.clear();
  bool isPlain = isAscii(line) && line.find('\\') == line.npos;
  while (true) {
    while (!line.empty() && isSpace(line.front()))
      line.remove_prefix(1);
    if (line.empty() || line.front() == '#')
      return {};
    Field &field = words.fields.emplace_back();
    if (Status status = readField(line, field, words.unquoted); !status)
      return status;
    if (!isPlain && !(isUtf8(field.value) && isUtf8(field.key)))
      return complaint(fmt::format("word {} is not UTF-8", words.fields.size()));
  }
}

std::string quoted(std::string_view text) {
  bool plain = !text.empty();
  std::string escaped;
  for (char c : text) {
    auto code = static_cast<unsigned char>(c);
    plain &= code > ' ' && code < 127 && c != '"' && c != '=' && c != '#' && c != '\\';
    if (c == '"' || c == '\\')
      escaped += fmt::format("\\{}", c);
    else if (code < ' ' || code == 127)
      escaped += fmt::format("\\x{:02x}", code);
    else
      escaped += c;
  }
  return plain ? std::string(text) : fmt::format("\"{}\"", escaped);
}

std::optional<int64_t> parseInteger(std::string_view text) {
  int64_t value = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<Amount> parseAmount(std::string_view text) {
  Amount amount;
  if (text.starts_with("table{") && text.ends_with("}")) {
    text = text.substr(6, text.size() - 7);
    while (true) {
      std::string_view step = text.substr(0, text.find(','));
      size_t colon = step.find(':');
      if (colon == std::string_view::npos)
        return std::nullopt;
      auto m = parseInteger(step.substr(0, colon)), value = parseInteger(step.substr(colon + 1));
      if (!m || !value)
        return std::nullopt;
      amount.table.emplace_back(*m, *value);
      if (step.size() == text.size())
        break;
      text.remove_prefix(step.size() + 1);
    }
  } else {
    size_t plus = text.find('+');
    std::string_view scaled = plus == std::string_view::npos ? text : text.substr(plus + 1);
    bool scales = scaled.ends_with("*m");
    auto value = parseInteger(scales ? scaled.substr(0, scaled.size() - 2) : scaled);
    auto fixed = scales && plus != std::string_view::npos ? parseInteger(text.substr(0, plus)) : 0;
    if (!value || !fixed || (plus != std::string_view::npos && !scales))
      return std::nullopt;
    amount = scales ? Amount{*fixed, *value, {}} : Amount{*value, 0, {}};
  }
  if (!amount.isValid())
    return std::nullopt;
  return amount;
}

} // namespace accum::planner
