// SPDX-License-Identifier: Apache-2.0
// Evaluation of an Amount at one micro-batch size, without overflow.
#include "compiler/Planner/Amount.h"
#include <algorithm>
#include <fmt/format.h>

namespace accum::planner {

int64_t Amount::at(int64_t m) const {
  if (!table.empty()) {
    auto next = std::upper_bound(table.begin(), table.end(), m,
                                 [](int64_t size, const auto &step) { return size < step.first; });
    return next == table.begin() ? next->second : std::prev(next)->second;
  }
  __int128 value = static_cast<__int128>(perSample) * m + fixed;
  return value > kAmountLimit ? kAmountLimit + 1 : static_cast<int64_t>(value);
}

double Amount::real(int64_t m, int64_t pieces) const {
  auto parts = static_cast<double>(pieces);
  if (!table.empty())
    return static_cast<double>(at(m)) / parts;
  return static_cast<double>(fixed) + static_cast<double>(perSample) * static_cast<double>(m) / parts;
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
