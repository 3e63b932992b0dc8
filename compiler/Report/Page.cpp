// SPDX-License-Identifier: Apache-2.0
// The page: a headline, the sections, what was run.
#include "compiler/Report/Page.h"
#include "base/FormatBytes.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Report/Assets.h"
#include "compiler/Report/Explain.h"
#include "compiler/Report/ExplainText.h"
#include "compiler/Report/Markup.h"
#include "compiler/Report/Sections.h"
#include "compiler/Report/TensorNames.h"
#include <cctype>
#include <fmt/format.h>

namespace accum::planner::report {

namespace {

std::string tile(const std::string &name, const std::string &figure, const std::string &below) {
  return fmt::format("<div class='tile'><span>{}</span><b>{}</b><small>{}</small></div>\n", name, figure,
                     below);
}

std::string tiles(const View &view) {
  const Plan &plan = *view.search.plan;
  const Search &search = view.search;
  std::string rate = formatRate(search);
  std::string text = "<div class='tiles'>\n";
  text +=
      tile("micro-batch", countMark(plan.cut.m),
           fmt::format("x {} step{}{}", countMark(plan.cut.steps), plan.cut.steps == 1 ? "" : "s",
                       plan.cut.last != plan.cut.m ? fmt::format(", {} in the last", plan.cut.last) : ""));
  text +=
      tile("memory", bytesMark(plan.counted()), fmt::format("of {} per device", formatBytes(search.budget)));
  text += tile("step", secondsMark(plan.seconds()), fmt::format("predicted, {} rates", escape(plan.basis)));
  if (!rate.empty())
    text += tile(search.tokensPerSample > 0 ? "tokens per second" : "samples per second", rate,
                 search.mfu > 0 ? fmt::format("{:.1f} % of the peak rate", 100 * search.mfu) : "");
  return text + "</div>\n";
}

std::string refusal(const View &view) {
  Error error = explainNoFit(view.search);
  std::string text =
      fmt::format("<div class='refused'><p><b>{}{}.</b></p>\n<ul>\n",
                  static_cast<char>(std::toupper(error.message[0])), escape(error.message.substr(1)));
  for (const std::string &note : error.notes)
    text += fmt::format("<li>{}</li>\n", escape(note));
  return text + "</ul>\n<p>What follows is the smallest plan there is.</p></div>\n";
}

std::string lengthRow(const LengthRow &row) {
  return fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.2f} us</td><td>{}</td></tr>\n",
                     escape(row.size), countMark(row.microBatch), secondsMark(row.seconds),
                     1e6 * row.seconds / double(row.places), bytesMark(row.arena));
}

} // namespace

std::string withLengths(std::string page, const std::string &dims, const std::vector<LengthRow> &rows) {
  std::string section = fmt::format(
      "<section id='lengths'><h2>Sizes of {}</h2>\n<p>A step computes each sample at the smallest size that "
      "holds "
      "it. They take turns in one arena. What else is on this page is of the largest, {}.</p>\n<table>\n"
      "<tr><th>size</th><th>micro-batch</th><th>micro-step</th><th>per place</th><th>arena</th></tr>\n",
      escape(dims), escape(rows.back().size));
  for (const LengthRow &row : rows)
    section += lengthRow(row);
  return page.insert(page.find("<section"), section + "</table></section>\n");
}

std::string summarySection(const View &view) {
  const Search &search = view.search;
  std::string each = bytesMark(search.budget) + " each to use";
  if (contextOf(search) > 0)
    each = fmt::format("{} each, {} to use beside the driver", bytesMark(search.memoryTotal),
                       bytesMark(search.budget));
  return fmt::format("<header><h1>{}</h1>\n<p>{} x {}, {}; global batch {}{}</p>\n{}</header>\n",
                     escape(shortened(view.facts.title, 160)), countMark(search.devices),
                     escape(search.target), each, countMark(search.batch),
                     search.devices > 1 ? fmt::format(", {} per device", countMark(search.deviceBatch)) : "",
                     view.fits() ? tiles(view) : refusal(view));
}

std::string factsSection(const View &view) {
  std::string text = "<section id='facts'><h2>What was planned</h2>\n<dl>\n";
  for (const auto &[name, value] : view.facts.rows)
    text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value));
  for (const Rate &rate : view.profile.rates)
    if (rate.matrix && !rate.source.empty() && &rate == &view.profile.rate(true, rate.dtype))
      text += fmt::format("<dt>{} rate</dt><dd>{:.4g} TFLOP/s; {}</dd>\n", escape(rate.dtype),
                          rate.sustained * 1e-12, escape(rate.source));
  return text + fmt::format("</dl>\n<pre>{}</pre></section>\n", escape(view.facts.commandLine));
}

Result<std::string> writePage(const Problem &problem, const DeviceProfile &profile, const Options &options,
                              const Search &search, const PageFacts &facts) {
  Result<View> made = makeView(problem, profile, options, search, facts);
  if (!made)
    return made.error();
  const View &view = *made;
  std::string page =
      fmt::format("<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'/>\n<meta name='viewport' "
                  "content='width=device-width, initial-scale=1'/>\n<title>{}: the plan</title>\n"
                  "<style>\n{}</style>\n</head><body>\n{}",
                  escape(facts.title), pageStyle(), patternDefinitions());
  page += summarySection(view) + memorySection(view) + arenaSection(view) + candidatesSection(view) +
          recomputeSection(view) + stepSection(view) + budgetSection(view) + factsSection(view);
  return page + fmt::format("<script>\n{}</script>\n</body></html>\n", pageScript());
}

} // namespace accum::planner::report
