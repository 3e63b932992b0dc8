// SPDX-License-Identifier: Apache-2.0
// A value, or one sentence that says why there is none: the planner's only way to report what a file or a
// flag caused.
#pragma once
#include "base/Expected.h"
#include <string>
#include <vector>

namespace accum::planner {

/// `message` is one lower-case sentence without the slug; `slug` is the stable word the driver prints last,
/// in brackets. `line` is the 1-based line of the text the message is about, 0 where there is none.
struct Error {
  std::string message;
  std::string slug;
  std::vector<std::string> notes = {};
  int line = 0;
};

template <class T> using Result = Expected<T, Error>;
using Status = Success<Error>;

} // namespace accum::planner
