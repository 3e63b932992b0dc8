// SPDX-License-Identifier: Apache-2.0
// Recognises identical layers: windows of commands that repeat one after another.
#pragma once
#include "compiler/Planner/Problem/Problem.h"
#include <vector>

namespace accum::planner {

/// `count` windows of `period` commands each, from the command `begin` on.
struct WindowRun {
  int begin = 0, period = 1, count = 1;
  bool operator==(const WindowRun &) const = default;
};

/// The runs among the commands [begin, end), in order and disjoint: what covers most first, of equals the
/// shortest period. Two commands look alike where kernel, costs and the sizes of their results agree.
std::vector<WindowRun> repeatedWindows(const Problem &problem, int begin, int end);

} // namespace accum::planner
