// SPDX-License-Identifier: Apache-2.0
// Where everything stands in the order that runs.
#pragma once
#include "compiler/Planner/Problem/Recompute.h"
#include <vector>

namespace accum::planner {

/// Before each command of a problem its repetitions, in the order of their list; behind it, what runs beside
/// it.
struct RunningOrder {
  /// `before`: `Recomputation::positions`.
  RunningOrder(const Recomputation &flow, const std::vector<int> &before);

  std::vector<int> original, clone; ///< command -> place; kNoIndex where it does not run again
  std::vector<int> end;             ///< command -> the place behind it and what runs beside it
  int length = 0;
};

} // namespace accum::planner
