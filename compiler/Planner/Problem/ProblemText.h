// SPDX-License-Identifier: Apache-2.0
// The text form of a Problem (docs/problem-format.md): a bad plan is a file to attach.
#pragma once
#include "compiler/Planner/Problem/Problem.h"
#include <string_view>

namespace accum::planner {

/// One line per thing; `docs/problem-format.md` has the grammar. Read back it gives an equal problem.
std::string toText(const Problem &problem);

/// Reads and checks. `origin` is the file's name in messages, which carry the line. Slug `malformed-problem`.
Result<Problem> parseProblem(std::string_view text, const std::string &origin);

} // namespace accum::planner
