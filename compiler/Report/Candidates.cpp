// SPDX-License-Identifier: Apache-2.0
// The micro-batch sizes that were compared: time per sample and memory against m.
#include "base/FormatBytes.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Report/Axis.h"
#include "compiler/Report/ExplainText.h"
#include "compiler/Report/Markup.h"
#include "compiler/Report/Sections.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>

namespace accum::planner::report {

namespace {

constexpr size_t kPoints = 400; ///< drawn at most

/// The candidates that are drawn: thinned evenly on the axis of m where there are many, the chosen one kept.
std::vector<const Candidate *> drawnCandidates(const Search &search) {
  std::vector<const Candidate *> drawn;
  double last = -1, most = std::log2(static_cast<double>(search.candidates.front().cut.m)) + 1e-9;
  for (const Candidate &candidate : search.candidates) {
    double at = std::log2(static_cast<double>(candidate.cut.m)) / most;
    bool isNear = last >= 0 && last - at < 1.0 / kPoints && search.candidates.size() > kPoints;
    if (isNear && candidate.verdict != Verdict::Chosen)
      continue;
    last = at;
    drawn.push_back(&candidate);
  }
  return drawn;
}

double samplesOf(const Search &search) { return static_cast<double>(search.deviceBatch); }

std::string describe(const Search &search, const Candidate &candidate) {
  std::string why;
  switch (candidate.verdict) {
  case Verdict::Chosen:
    why = "chosen";
    break;
  case Verdict::DoesNotFit:
    why = fmt::format("does not fit{}: {} over {}", withoutSavings(search, candidate),
                      formatBytes(candidate.over), formatBytes(search.budget));
    break;
  case Verdict::NotDivisible:
    why = "not divisible: " + candidate.note;
    break;
  case Verdict::MoreMemory:
    why = moreMemoryText(search, candidate);
    break;
  case Verdict::Slower:
    why = "slower: " + candidate.note;
    break;
  }
  return fmt::format("m = {}, K = {}: {} per sample, {} of the budget; {}", candidate.cut.m,
                     candidate.cut.steps, formatSeconds(candidate.seconds / samplesOf(search)),
                     formatBytes(candidate.counted), why);
}

/// A mark of fixed size at a place that stretches: a dot, a ring for what is not allowed, a cross for what
/// does not fit, a filled diamond for the chosen one.
std::string mark(const Search &search, const Candidate &candidate, double x, double y) {
  const char *shape = "<circle r='3.2' class='dot'/>";
  if (candidate.verdict == Verdict::Chosen)
    shape = "<path class='chosen' d='M0-9L9 0 0 9-9 0z'/>";
  else if (candidate.verdict == Verdict::DoesNotFit)
    shape = "<path class='cross' d='M-4-4l8 8M-4 4l8-8'/>";
  else if (candidate.verdict == Verdict::NotDivisible)
    shape = "<circle r='3.2' class='ring'/>";
  return fmt::format(
      "<svg class='mark' x='{}' y='{}'><title>{}</title><circle r='11' class='see'/>{}</svg>\n", percent(x),
      percent(y), escape(describe(search, candidate)), shape);
}

struct Curve {
  const Search &search;
  std::vector<const Candidate *> drawn;
  Axis across; ///< over log2 m; 1 - at() from the left

  double x(const Candidate &candidate) const {
    return 1 - across.at(std::log2(static_cast<double>(candidate.cut.m)));
  }

  /// One drawing: ticks, a line through the values, a mark for each.
  std::string draw(const Axis &axis, const std::string &label, const std::string &unit,
                   const std::function<double(const Candidate &)> &value, const std::string &more) const {
    std::string text =
        fmt::format("<figure class='chart'><figcaption>{}</figcaption><svg height='210' role='img' "
                    "aria-label='{}'>\n",
                    label, label);
    std::vector<double> ticks = axis.ticks(4);
    for (size_t index = 0; index < ticks.size(); ++index)
      text += gridLine(axis, ticks[index],
                       tickText(ticks[index], ticks.size() > 1 ? ticks[1] - ticks[0] : ticks[index]) +
                           (index + 1 == ticks.size() ? " " + unit : ""));
    std::string path;
    for (const Candidate *candidate : onePerSize())
      path += fmt::format("{}{:.4g} {:.4g}", path.empty() ? "M" : "L", 1000 * x(*candidate),
                          1000 * axis.at(value(*candidate)));
    text += fmt::format("<svg viewBox='0 0 1000 1000' preserveAspectRatio='none' width='100%' height='100%'>"
                        "<path class='curve' d='{}'/></svg>\n{}",
                        path, more);
    for (const Candidate *candidate : drawn)
      if (candidate->verdict != Verdict::Chosen)
        text += mark(search, *candidate, x(*candidate), axis.at(value(*candidate)));
    for (const Candidate *candidate : drawn)
      if (candidate->verdict == Verdict::Chosen)
        text += mark(search, *candidate, x(*candidate), axis.at(value(*candidate)));
    return text + "</svg>\n" + sizes() + "</figure>\n";
  }

  /// Where the line goes through: of a size that stands more than once the chosen one, else the first.
  std::vector<const Candidate *> onePerSize() const {
    std::vector<const Candidate *> through;
    for (const Candidate *candidate : drawn) {
      if (through.empty() || through.back()->cut.m != candidate->cut.m)
        through.push_back(candidate);
      else if (candidate->verdict == Verdict::Chosen)
        through.back() = candidate;
    }
    return through;
  }

  /// Powers of two under the drawing.
  std::string sizes() const {
    std::string text = "<svg height='20' class='sizes'>";
    auto largest = static_cast<int>(across.high() + 1e-9);
    int step = std::max(1, (largest + 9) / 10);
    for (int power = 0; power <= largest; power += step)
      text += fmt::format("<text x='{}' y='15' text-anchor='middle'>{}</text>", percent(1 - across.at(power)),
                          power == 0 ? "m = 1" : std::to_string(int64_t{1} << power));
    return text + "</svg>\n";
  }
};

/// An axis over the values: from zero or logarithmic where they are far apart, close around them otherwise.
Axis axisOver(double least, double most, double &scale, bool fromZero) {
  least *= scale, most *= scale;
  if (least > 0 && most > 8 * least)
    return {least * 0.85, most * 1.2, true};
  double margin = 0.15 * std::max(most - least, most * 0.02);
  return fromZero ? Axis(0, most * 1.1) : Axis(std::max(0.0, least - margin), most + margin);
}

std::string timeCurve(const Curve &curve) {
  const Search &search = curve.search;
  double least = 1e300, most = 0;
  for (const Candidate *candidate : curve.drawn) {
    least = std::min(least, candidate->seconds / samplesOf(search));
    most = std::max(most, candidate->seconds / samplesOf(search));
  }
  bool micros = most < 1e-3, seconds = most >= 10;
  double scale = micros ? 1e6 : seconds ? 1 : 1e3;
  Axis axis = axisOver(least, most, scale, false);
  return curve.draw(
      axis, "predicted time per sample",
      micros    ? "us"
      : seconds ? "s"
                : "ms",
      [&](const Candidate &candidate) { return candidate.seconds / samplesOf(search) * scale; }, "");
}

std::string memoryCurve(const Curve &curve) {
  const Search &search = curve.search;
  auto budget = static_cast<double>(search.budget);
  double least = 1e300, most = 0;
  for (const Candidate *candidate : curve.drawn) {
    least = std::min(least, static_cast<double>(candidate->counted));
    most = std::max(most, static_cast<double>(candidate->counted));
  }
  bool showsBudget = budget < 4 * most && budget > least / 8;
  if (showsBudget)
    least = std::min(least, budget), most = std::max(most, budget);
  ByteUnit unit = unitOf(static_cast<int64_t>(most));
  double scale = 1.0 / static_cast<double>(unit.bytes);
  Axis axis = axisOver(least, most, scale, most < 3 * least);
  std::string limit;
  if (showsBudget)
    limit = fmt::format(
        "<line class='limit' x1='0' x2='100%' y1='{0}' y2='{0}'/><text class='note' x='4' y='{0}' "
        "dy='-5'>limit {1}</text>\n",
        percent(axis.at(budget * scale)), formatBytes(search.budget));
  std::string label = "memory out of the budget";
  if (!showsBudget)
    label += fmt::format(" (limit {}, {} the picture)", formatBytes(search.budget),
                         budget > most ? "above" : "below");
  return curve.draw(
      axis, label, unit.name,
      [&](const Candidate &candidate) { return static_cast<double>(candidate.counted) * scale; }, limit);
}

std::string table(const Search &search) {
  constexpr size_t rows = 60;
  std::string text =
      fmt::format("<details><summary>All {} candidates</summary>\n<table id='candidates'><tr><th>K</th><th>m"
                  "</th><th>last</th><th>arena</th><th>step</th><th class='words'>why not</th></tr>\n",
                  search.candidates.size());
  const Candidate *chosen = chosenOf(search);
  size_t shown = 0;
  for (const Candidate &candidate : search.candidates) {
    if (++shown > rows && &candidate != chosen)
      continue;
    std::string why = describe(search, candidate);
    why = why.substr(why.find("; ") + 2);
    if (candidate.verdict == Verdict::Slower && chosen)
      why = fmt::format("+{:.1f} %: {}", 100 * (candidate.seconds / chosen->seconds - 1), candidate.note);
    text += fmt::format(
        "<tr{}><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class='words'>{}</td></tr>\n",
        &candidate == chosen ? " class='sum'" : "", candidate.cut.steps, candidate.cut.m, candidate.cut.last,
        bytesMark(candidate.arena), secondsMark(candidate.seconds), escape(why));
  }
  if (search.candidates.size() > rows)
    text += fmt::format("<tr><td colspan='6'>the largest {} of them; the others: --json</td></tr>\n", rows);
  return text + "</table></details>\n";
}

} // namespace

std::string candidatesSection(const View &view) {
  const Search &search = view.search;
  double most = std::log2(static_cast<double>(search.candidates.front().cut.m));
  Curve curve{search, drawnCandidates(search), Axis(0, std::max(most, 0.5))};
  std::string text = fmt::format(
      "<section id='sizes'><h2>The sizes compared</h2>\n<p>{} micro-batch sizes m (K micro-steps "
      "each) in {}. <span class='key'>&#9670; chosen</span> <span class='key'>&#9679; slower</span> <span "
      "class='key'>&#10005; does not fit</span></p>\n",
      countMark(static_cast<int64_t>(sizeCount(search))), formatSeconds(search.seconds));
  return text + timeCurve(curve) + memoryCurve(curve) +
         "<p class='readout'>Point at a size to see why it was not taken.</p>\n" + table(search) +
         "</section>\n";
}

} // namespace accum::planner::report
