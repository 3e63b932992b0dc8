// SPDX-License-Identifier: Apache-2.0
// What is no text is escaped, as a Problem's text escapes it.
#include "compiler/Planner/Problem/Printable.h"
#include "compiler/Planner/Problem/ProblemLine.h"
#include <fmt/format.h>

namespace accum::planner {

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

} // namespace accum::planner
