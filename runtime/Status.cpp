// SPDX-License-Identifier: Apache-2.0
// Prints errors the way every tool of the project does.
#include "runtime/Status.h"

namespace accum::runtime {

std::string format(const Error &error) {
  if (error.message.empty()) // another rank has said it
    return "";
  std::string text = "error: " + error.message;
  if (!error.slug.empty())
    text += " [" + error.slug + "]";
  text += "\n";
  for (const std::string &note : error.notes)
    text += "note: " + note + "\n";
  return text;
}

} // namespace accum::runtime
