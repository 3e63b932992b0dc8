// SPDX-License-Identifier: Apache-2.0
// What the texts about a search share.
#pragma once
#include "compiler/Report/BudgetAnswers.h"
#include <string>
#include <vector>

namespace accum::planner {

/// The candidate that became the plan; null where none did.
const Candidate *chosenOf(const Search &search);

/// Bytes of the memory that the driver takes before the budget; `--memory` includes them.
int64_t contextOf(const Search &search);

/// ` with everything kept`: how a candidate of the chosen size differs that does not fit or takes more; empty
/// for all others.
std::string withoutSavings(const Search &search, const Candidate &candidate);

/// `0.1 % faster and takes 26 GiB more` than the plan, or `as fast and ...`: of a candidate that is
/// `more-memory`.
std::string moreMemoryText(const Search &search, const Candidate &candidate);

/// Joins phrases with `; `, broken at the line width under the label's column.
std::string wrapped(const std::string &label, const std::vector<std::string> &phrases);

/// `budget`: the least that works, what more would buy, what the next larger micro-batch needs and saves.
std::string budgetLine(const Search &search, const BudgetAnswers &budgets);

/// `109k`: tokens per second, or samples where a sample has none; empty of a step that takes no time.
std::string formatRate(const Search &search);

/// Micro-batch sizes that were compared; one may stand for several candidates.
size_t sizeCount(const Search &search);

} // namespace accum::planner
