// SPDX-License-Identifier: Apache-2.0
// Evaluation of an Amount at one micro-batch size, without overflow.
#include "compiler/Planner/Problem/Amount.h"
#include <algorithm>
#include <fmt/format.h>

namespace accum::planner {

int64_t Amount::step(int64_t m) const {
  auto next = std::upper_bound(table.begin(), table.end(), m,
                               [](int64_t size, const auto &step) { return size < step.first; });
  return next == table.begin() ? next->second : std::prev(next)->second;
}

bool Amount::isValid() const {
  if (table.empty())
    return fixed >= 0 && perSample >= 0;
  if (fixed != 0 || perSample != 0 || table.front().first != 1)
    return false;
  auto notAscending = [](const auto &a, const auto &b) { return a.first >= b.first; };
  return std::adjacent_find(table.begin(), table.end(), notAscending) == table.end() &&
         std::all_of(table.begin(), table.end(),
                     [](const auto &step) { return step.second >= 0 && step.second <= kAmountLimit; });
}

std::string toText(const Amount &amount) {
  if (!amount.table.empty()) {
    std::string steps;
    for (auto [m, value] : amount.table)
      steps += fmt::format("{}{}:{}", steps.empty() ? "" : ",", m, value);
    return fmt::format("table{{{}}}", steps);
  }
  if (amount.perSample == 0)
    return fmt::format("{}", amount.fixed);
  return amount.fixed == 0 ? fmt::format("{}*m", amount.perSample)
                           : fmt::format("{}+{}*m", amount.fixed, amount.perSample);
}

} // namespace accum::planner
