// SPDX-License-Identifier: Apache-2.0
// One line of a Problem's text: words, `key=value` fields, numbers and amounts.
#pragma once
#include "compiler/Planner/Problem/Amount.h"
#include "compiler/Planner/Problem/Result.h"
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace accum::planner {

/// A word of a line, unquoted. `key` is empty where it is a bare word. Both are parts of the line, or of its
/// `Words`.
struct Field {
  std::string_view key = {};
  std::string_view value = {};
  bool taken = false;
};

/// The words of a line; kept from one line to the next, so that millions of them need no memory each.
struct Words {
  std::vector<Field> fields = {};
  std::deque<std::string> unquoted = {}; ///< what was quoted, which `fields` points into
};

/// Splits a line at white space; values may be quoted with `"` and the escapes \" \\ and \xHH. `#` where a
/// word would begin starts a comment. The error is the complaint alone, without file and line.
Status splitLine(std::string_view line, Words &words);

/// Text that splitLine gives back as one value: quoted where that is needed.
std::string quoted(std::string_view text);

std::optional<int64_t> parseInteger(std::string_view text);
/// `12`, `8*m`, `12+8*m`, `table{1:0,8:4096}`; negative or malformed: none.
std::optional<Amount> parseAmount(std::string_view text);

} // namespace accum::planner
