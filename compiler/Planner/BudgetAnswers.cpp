// SPDX-License-Identifier: Apache-2.0
// What other budgets would give: the search, asked again.
#include "compiler/Planner/BudgetAnswers.h"
#include "compiler/Planner/ExplainText.h"
#include "compiler/Planner/Quantity.h"
#include <algorithm>

namespace accum::planner {

namespace {

Result<BudgetAnswer> ask(const Problem &problem, const DeviceProfile &profile, Options options,
                         int64_t budget, int64_t before) {
  options.budget = budget;
  Result<Search> search = solve(problem, profile, options);
  if (!search)
    return search.error();
  BudgetAnswer answer{budget, budget - before};
  if (const Candidate *chosen = chosenOf(*search))
    answer.chosen = *chosen;
  return answer;
}

} // namespace

Result<BudgetAnswers> askBudgets(const Problem &problem, const DeviceProfile &profile, const Options &options,
                                 const Search &search) {
  BudgetAnswers answers;
  if (options.deadline.hasPassed())
    return answers;
  auto add = [&](std::vector<BudgetAnswer> &list, int64_t budget) -> Status {
    Result<BudgetAnswer> answer = ask(problem, profile, options, budget, search.budget);
    if (!answer)
      return answer.error();
    list.push_back(*answer);
    return {};
  };
  const Candidate *chosen = chosenOf(search);
  int64_t least = search.candidates[search.smallest].counted;
  for (int64_t units : {1, 4, 10})
    if (Status status = add(answers.larger, search.budget + units * unitFor(search.budget).bytes); !status)
      return status.error();
  if (!chosen) {
    Status status = least > answers.larger.back().budget ? add(answers.larger, least) : Status();
    return status ? Result<BudgetAnswers>(answers) : status.error();
  }
  for (int64_t quarters : {3, 2, 1})
    if (int64_t budget = chosen->counted / 4 * quarters; budget > least)
      if (Status status = add(answers.tighter, budget); !status)
        return status.error();
  if (least < chosen->counted)
    if (Status status = add(answers.tighter, least); !status)
      return status.error();
  return answers;
}

} // namespace accum::planner
