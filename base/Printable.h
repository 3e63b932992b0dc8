// SPDX-License-Identifier: Apache-2.0
// Text of files for messages: bytes that a terminal cannot print are escaped.
#ifndef ACCUM_BASE_PRINTABLE_H
#define ACCUM_BASE_PRINTABLE_H

#include <string>
#include <string_view>

namespace accum {

/// One line of UTF-8: control characters as `\x00`, and every byte outside ASCII where some of them are not
/// UTF-8. What a file holds neither ends a C string nor steers a terminal.
std::string printable(std::string_view text);

/// The same for each line of a text.
std::string printableLines(std::string_view text);

} // namespace accum
#endif
