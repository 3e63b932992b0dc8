// SPDX-License-Identifier: Apache-2.0
// Where everything stands in the order that runs.
#pragma once
#include "compiler/Planner/Recompute.h"
#include <span>
#include <vector>

namespace accum::planner {

/// Before each command of a problem, in this order: what waits for copies to the host, what begins copies
/// from there, repetitions; each in the order of its list. Behind it, what runs beside it.
struct RunningOrder {
  /// `before`: `Recomputation::positions`.
  RunningOrder(const Recomputation &flow, const std::vector<int> &before, std::span<const Move> moves);

  std::vector<int> original, clone; ///< command -> place; kNoIndex where it does not run again
  std::vector<int> end;             ///< command -> the place behind it and what runs beside it
  std::vector<int> outs, ins;       ///< per move
  int length = 0;
};

} // namespace accum::planner
