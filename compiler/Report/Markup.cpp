// SPDX-License-Identifier: Apache-2.0
// Escaping, and figures with their exact values.
#include "compiler/Report/Markup.h"
#include "base/FormatBytes.h"
#include "compiler/Planner/Problem/Quantity.h"
#include <cmath>
#include <fmt/format.h>

namespace accum::planner::report {

namespace {

/// Bytes of the UTF-8 character that `text` begins with; 0 where it begins with none, or with one that XML
/// forbids.
size_t characterLength(std::string_view text) {
  auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  unsigned char lead = byte(0);
  if (lead < 0x80)
    return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length)
    return 0;
  for (size_t at = 1; at < length; ++at)
    if ((byte(at) & 0xc0) != 0x80)
      return 0;
  // Overlong forms, surrogates, beyond U+10FFFF, and the two non-characters at the end of the first plane.
  bool wrong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f) ||
               (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f) ||
               (lead == 0xef && byte(1) == 0xbf && byte(2) >= 0xbe);
  return wrong ? 0 : length;
}

/// U+202A to U+202E and U+2066 to U+2069: they turn what stands behind them around.
bool isDirection(std::string_view character) {
  return (character >= "\xe2\x80\xaa" && character <= "\xe2\x80\xae") ||
         (character >= "\xe2\x81\xa6" && character <= "\xe2\x81\xa9");
}

} // namespace

std::string escape(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    size_t length = characterLength(text);
    if (length == 1 && std::string_view("&<>\"").find(text[0]) != std::string_view::npos)
      result += fmt::format("&#{};", static_cast<int>(text[0]));
    else
      result += length == 0 || isDirection(text.substr(0, length)) ? "?" : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::string percent(double fraction) {
  std::string text = fmt::format("{:.3f}", 100 * fraction);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.')
    text.pop_back();
  return text + "%";
}

std::string bytesMark(int64_t bytes) {
  return fmt::format(R"(<data value="{}">{}</data>)", bytes, formatBytes(bytes));
}

std::string secondsMark(double seconds) {
  return fmt::format(R"(<data value="{}">{}</data>)", seconds, formatSeconds(seconds));
}

std::string countMark(int64_t count) {
  return fmt::format(R"(<data value="{}">{}</data>)", count, formatThousands(count));
}

} // namespace accum::planner::report
