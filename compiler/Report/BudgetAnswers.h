// SPDX-License-Identifier: Apache-2.0
// What other budgets would give: the search, asked again.
#pragma once
#include "compiler/Planner/Search/Solve.h"

namespace accum::planner {

/// The search's answer to one other budget.
struct BudgetAnswer {
  int64_t budget = 0; ///< bytes per device
  int64_t change = 0; ///< to the budget that was asked for; negative: tighter
  /// The plan's totals; absent where nothing fits.
  std::optional<Candidate> chosen = {};
};

struct BudgetAnswers {
  std::vector<BudgetAnswer> larger = {}; ///< +1, +4, +10 GiB (MiB, KiB where the budget is that small)
  std::vector<BudgetAnswer> tighter =
      {}; ///< three quarters, half, a quarter of what the plan takes, the least
};

/// Asks the search again, once, for other budgets with nothing else changed. Where nothing fits the budget
/// asked for, `tighter` is empty and `larger` ends in the least that works. Empty where the deadline has
/// passed.
Result<BudgetAnswers> askBudgets(const Problem &problem, const DeviceProfile &profile, const Options &options,
                                 const Search &search);

} // namespace accum::planner
