// SPDX-License-Identifier: Apache-2.0
// Text of files for messages: bytes that a terminal cannot print are escaped.
#pragma once
#include <string>
#include <string_view>

namespace accum::planner {

/// One line of UTF-8: control characters as `\x00`, and every byte outside ASCII where some of them are not
/// UTF-8.
std::string printable(std::string_view text);

} // namespace accum::planner
