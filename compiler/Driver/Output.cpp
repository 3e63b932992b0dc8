// SPDX-License-Identifier: Apache-2.0
// Messages as text, and what can be read back from them.
#include "compiler/Driver/Output.h"
#include "base/Printable.h"

namespace accum::driver {

/// A name may be the whole file: the middle of such a sentence is left out, its slug stays.
static std::string shortened(const std::string &message) {
  constexpr size_t longest = 4000, longestSlug = 60;
  if (message.size() <= longest)
    return message;
  size_t end = longest - longestSlug, slug = message.rfind(" [");
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0) == 0x80) // inside of a character
    --end;
  bool ends = slug != std::string::npos && message.size() - slug <= longestSlug;
  return message.substr(0, end) + "..." + (ends ? message.substr(slug) : "");
}

std::string toText(const Message &message) {
  static constexpr const char *kinds[] = {"", "error: ", "warning: ", "notice: ", "note: "};
  bool isPrefixed = message.subject.empty() || message.text.starts_with(message.subject);
  std::string text = kinds[static_cast<int>(message.severity)];
  text += (isPrefixed ? "" : message.subject + ": ") + message.text;
  std::string lines = printable(shortened(text)) + "\n";
  for (const std::string &note : message.notes)
    lines += printable(shortened("note: " + note)) + "\n";
  return lines;
}

std::string slugOf(const std::string &text) {
  size_t begin = text.rfind('['), end = text.find_last_not_of(" \n");
  if (begin == std::string::npos || end == std::string::npos || text[end] != ']' || begin > end)
    return "";
  return text.substr(begin + 1, end - begin - 1);
}

NodeName nodeIn(const std::string &text) {
  size_t end = text.starts_with("`") && !text.starts_with("`-") ? text.find('`', 1) : std::string::npos;
  if (end == std::string::npos)
    return {};
  std::string name = text.substr(1, end - 1), rest = text.substr(end + 1);
  if (rest.starts_with(": "))
    return {name, ""};
  size_t close = rest.find("): ");
  if (!rest.starts_with(" (") || close == std::string::npos)
    return {};
  return {name, rest.substr(2, close - 2)};
}

} // namespace accum::driver
