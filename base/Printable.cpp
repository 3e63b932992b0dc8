// SPDX-License-Identifier: Apache-2.0
// What is no text is escaped, as a Problem's text escapes it.
#include "base/Printable.h"
#include "base/Utf8.h"
#include <fmt/format.h>

namespace accum {

std::string printable(std::string_view text) {
  unsigned firstForeign = isUtf8(text) ? 256 : 128;
  std::string shown;
  for (char c : text) {
    auto code = static_cast<unsigned char>(c);
    if (code < ' ' || code == 127 || code >= firstForeign)
      shown += fmt::format("\\x{:02x}", code);
    else
      shown += c;
  }
  return shown;
}

std::string printableLines(std::string_view text) {
  std::string shown;
  for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    shown += printable(text.substr(0, end)) + "\n";
    text.remove_prefix(end + 1);
  }
  return shown + printable(text);
}

} // namespace accum
