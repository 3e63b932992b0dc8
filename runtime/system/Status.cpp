// SPDX-License-Identifier: Apache-2.0
// Prints errors the way every tool of the project does.
#include "runtime/system/Status.h"

namespace accum::runtime {

std::string printable(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string shown;
  for (char c : text) {
    auto code = static_cast<unsigned char>(c);
    if (code < ' ' || code == 127)
      shown += {'\\', 'x', kDigits[code >> 4], kDigits[code & 15]};
    else
      shown += c;
  }
  return shown;
}

Error usage(const std::string &message, std::vector<std::string> notes) {
  return {kExitUsage, message, "usage", std::move(notes)};
}

Error badData(const std::string &message) { return {kExitFile, message, "bad-data"}; }

std::string format(const Error &error) {
  if (error.message.empty()) // another rank has said it
    return "";
  std::string text = "error: " + printable(error.message);
  if (!error.slug.empty())
    text += " [" + error.slug + "]";
  text += "\n";
  for (const std::string &note : error.notes)
    text += "note: " + printable(note) + "\n";
  return text;
}

} // namespace accum::runtime
