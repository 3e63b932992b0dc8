// SPDX-License-Identifier: Apache-2.0
// Sums of sizes that nobody has checked yet.
#pragma once
#include "compiler/Planner/Problem/Amount.h"
#include <algorithm>

namespace accum::planner {

/// Of two that are not negative; just above kAmountLimit where it would be larger, so that a caller can
/// refuse it.
inline int64_t saturatedSum(int64_t a, int64_t b) {
  constexpr int64_t most = kAmountLimit + 1;
  return std::min(most, std::min(most, a) + std::min(most, b));
}

} // namespace accum::planner
