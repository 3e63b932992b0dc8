// SPDX-License-Identifier: Apache-2.0
// The search in words and tables, as `accumc` prints it, and the same as JSON.
#pragma once
#include "compiler/Planner/Search/Solve.h"
#include "compiler/Report/BudgetAnswers.h"
#include <nlohmann/json_fwd.hpp>

namespace accum::planner {

/// `plan`, `memory`, `time` and `why` of a search that found a plan: what every run prints.
std::string explainPlan(const Search &search);

/// The table of candidates, the peak's tensors and what other budgets would give: `--explain`. At most `rows`
/// sizes are shown, the chosen one and its neighbours among them.
std::string explainSearch(const Search &search, const BudgetAnswers &budgets, size_t rows = 8);

/// The error of a search that found none: the smallest peak, what dominates it, which flag helps. Slug
/// `does-not-fit`.
Error explainNoFit(const Search &search);

/// Everything above, complete, for `--json`.
nlohmann::ordered_json toJson(const Search &search, const BudgetAnswers &budgets);

} // namespace accum::planner
