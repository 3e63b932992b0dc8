// SPDX-License-Identifier: Apache-2.0
// Prints errors the way every tool of the project does.
#include "runtime/system/Status.h"
#include "base/Printable.h"
#include <utility>

namespace accum::runtime {

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
