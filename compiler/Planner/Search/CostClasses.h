// SPDX-License-Identifier: Apache-2.0
// Commands that take the same time at every micro-batch size, told once.
#pragma once
#include "compiler/Planner/Problem/Problem.h"
#include <functional>
#include <utility>
#include <vector>

namespace accum::planner {

struct CostClasses {
  /// Per command and variant; behind them, beside its companion, where it has one. Empty where its time is
  /// never asked for.
  std::vector<std::vector<int>> of = {};
  /// A command and variant that stand for each class.
  std::vector<std::pair<int, int>> stands = {};
};

/// Of commands with several variants, and of those that `matter` besides.
CostClasses classifyCosts(const Problem &problem, const std::function<bool(int)> &matters);

} // namespace accum::planner
