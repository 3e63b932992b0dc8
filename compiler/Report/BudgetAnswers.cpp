// SPDX-License-Identifier: Apache-2.0
// What other budgets would give: the search, asked again.
#include "compiler/Report/BudgetAnswers.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Report/ExplainText.h"
#include <algorithm>

namespace accum::planner {

Result<BudgetAnswers> askBudgets(const Problem &problem, const DeviceProfile &profile, const Options &options,
                                 const Search &search) {
  BudgetAnswers answers;
  if (options.deadline.hasPassed())
    return answers;
  const Candidate *chosen = chosenOf(search);
  int64_t least = search.candidates[search.smallest].counted;
  std::vector<int64_t> budgets;
  for (int64_t units : {1, 4, 10})
    budgets.push_back(search.budget + units * unitFor(search.budget).bytes);
  if (!chosen && least > budgets.back())
    budgets.push_back(least);
  size_t larger = budgets.size();
  for (int64_t quarters : {3, 2, 1})
    if (int64_t budget = chosen ? chosen->counted / 4 * quarters : 0; budget > least)
      budgets.push_back(budget);
  if (chosen && least < chosen->counted)
    budgets.push_back(least);
  Result<std::vector<std::optional<Candidate>>> choices = chooseFor(problem, profile, options, budgets);
  if (!choices)
    return choices.error();
  for (size_t index = 0; index < budgets.size(); ++index)
    (index < larger ? answers.larger : answers.tighter)
        .push_back({budgets[index], budgets[index] - search.budget, (*choices)[index]});
  return answers;
}

} // namespace accum::planner
