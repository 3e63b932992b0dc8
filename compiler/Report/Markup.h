// SPDX-License-Identifier: Apache-2.0
// Text of a page: escaping, figures that a program can read back, percentages that let a drawing stretch.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace accum::planner::report {

/// For element content and attribute values; what is not UTF-8, not allowed in XML, or turns the
/// direction of writing, becomes `?`.
std::string escape(std::string_view text);

/// `12.345%`, of the width or the height of the drawing it stands in.
std::string percent(double fraction);

/// `<data value="BYTES">1.5 GiB</data>`: the exact figure beside the one that people read.
std::string bytesMark(int64_t bytes);
/// The same of a time; the value is in seconds.
std::string secondsMark(double seconds);
/// The same of a whole number.
std::string countMark(int64_t count);

} // namespace accum::planner::report
