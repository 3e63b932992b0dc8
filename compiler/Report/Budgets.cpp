// SPDX-License-Identifier: Apache-2.0
// What more memory would buy and what less would cost.
#include "base/FormatBytes.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Report/ExplainText.h"
#include "compiler/Report/Markup.h"
#include "compiler/Report/Sections.h"
#include <algorithm>
#include <fmt/format.h>

namespace accum::planner::report {

namespace {

struct Row {
  std::string name = {};
  int64_t budget = 0;
  std::optional<Candidate> chosen = {};
  bool isNow = false;
};

std::vector<Row> rowsOf(const View &view) {
  std::vector<Row> rows;
  auto add = [&](const std::vector<BudgetAnswer> &answers) {
    for (const BudgetAnswer &answer : answers) {
      std::string sign = answer.change > 0 ? "+" : "-";
      rows.push_back({sign + formatBytes(std::abs(answer.change)), answer.budget, answer.chosen});
    }
  };
  add(view.budgets.tighter);
  const Candidate *chosen = chosenOf(view.search);
  rows.push_back({"now", view.search.budget, chosen ? std::optional(*chosen) : std::nullopt, true});
  add(view.budgets.larger);
  std::sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) {
    return std::pair(a.budget, std::string_view(a.name)) < std::pair(b.budget, std::string_view(b.name));
  });
  return rows;
}

} // namespace

std::string budgetSection(const View &view) {
  std::vector<Row> rows = rowsOf(view);
  double now = view.fits() ? view.search.plan->seconds() : 0, most = 0;
  for (const Row &row : rows)
    most = std::max(most, row.chosen ? row.chosen->seconds : 0);
  std::string text =
      "<section id='budgets'><h2>Other budgets</h2>\n<p>The search, asked again with less and with more "
      "memory per device.";
  if (view.fits())
    text += fmt::format(" This plan holds down to {}.", bytesMark(view.search.plan->counted()));
  if (int64_t context = contextOf(view.search); context > 0)
    text += fmt::format(" <code>--memory</code> says {} more than these: what the driver takes.",
                        bytesMark(context));
  text += "</p>\n<table id='budget-table'><tr><th>budget</th><th class='wide-cell'></th><th>m x "
          "K</th><th>takes</th>"
          "<th>step</th><th class='wide-cell bars'></th></tr>\n";
  for (const Row &row : rows) {
    text += fmt::format("<tr{}><td>{}</td><td class='wide-cell'>{}</td>", row.isNow ? " class='sum'" : "",
                        bytesMark(row.budget), row.name);
    if (!row.chosen) {
      text += "<td colspan='3' class='words'>nothing fits</td><td class='wide-cell'></td></tr>\n";
      continue;
    }
    double change = now > 0 ? 100 * (row.chosen->seconds / now - 1) : 0;
    std::string difference =
        !view.fits() || row.isNow || std::abs(change) < 0.05
            ? ""
            : fmt::format(" <small>{:+.{}f} %</small>", change, std::abs(change) < 10 ? 1 : 0);
    text += fmt::format(
        "<td>{} x {}</td><td>{}</td><td>{}{}</td><td class='wide-cell bars'><svg width='100%' "
        "height='14'><rect class='bar' width='{}' height='14'/></svg></td></tr>\n",
        row.chosen->cut.m, row.chosen->cut.steps, bytesMark(row.chosen->counted),
        secondsMark(row.chosen->seconds), difference, percent(most > 0 ? row.chosen->seconds / most : 0));
  }
  return text + "</table></section>\n";
}

} // namespace accum::planner::report
