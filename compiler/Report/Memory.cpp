// SPDX-License-Identifier: Apache-2.0
// Memory over a step: stacked areas by kind, the peak and its tensors, and the memory line by line.
#include "base/FormatBytes.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Report/Axis.h"
#include "compiler/Report/ExplainText.h"
#include "compiler/Report/Markup.h"
#include "compiler/Report/Sections.h"
#include "compiler/Report/TensorNames.h"
#include <algorithm>
#include <fmt/format.h>

namespace accum::planner::report {

namespace {

/// What is drawn at most: more does not show on a screen.
constexpr int kColumns = 1000, kHoverColumns = 250;
constexpr size_t kPeakRows = 10;

/// Commands gathered into columns of equal or larger width; the tallest of each stands for it.
std::vector<std::pair<int, int>> columnsOf(const View &view, int limit) {
  std::vector<std::pair<int, int>> columns;
  int commands = static_cast<int>(view.problem.commands.size());
  for (int at = 0; at < commands;) {
    int begin = at++;
    while (at < commands && view.starts[at] - view.starts[begin] < 1.0 / limit &&
           view.problem.commands[at].phase == view.problem.commands[begin].phase)
      ++at;
    columns.emplace_back(begin, at);
  }
  return columns;
}

int tallest(const std::vector<int64_t> &heights, std::pair<int, int> column) {
  auto begin = heights.begin() + column.first, end = heights.begin() + column.second;
  return static_cast<int>(std::max_element(begin, end) - heights.begin());
}

/// A closed outline in the unit square, for a clip path.
std::string outline(const std::vector<std::array<double, 4>> &steps) { // left, right, top, bottom
  std::string path, back;
  for (const auto &[left, right, top, bottom] : steps)
    path += fmt::format("{}{:.5g} {:.5g}H{:.5g}", path.empty() ? "M" : "L", left, top, right);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    back += fmt::format("L{:.5g} {:.5g}H{:.5g}", (*step)[1], (*step)[3], (*step)[0]);
  return path + back + "z";
}

std::string areas(const View &view, const Axis &axis, const std::vector<int64_t> &total) {
  std::string text;
  std::vector<std::pair<int, int>> columns = columnsOf(view, kColumns);
  std::vector<double> base(columns.size(), 0);
  for (size_t index = 0; index < view.layers.size(); ++index) {
    const Layer &layer = view.layers[index];
    std::vector<std::array<double, 4>> steps;
    for (size_t at = 0; at < columns.size(); ++at) {
      double bottom = base[at];
      base[at] += static_cast<double>(layer.bytes[tallest(total, columns[at])]);
      std::array<double, 4> step = {view.starts[columns[at].first], view.starts[columns[at].second],
                                    axis.at(base[at]), axis.at(bottom)};
      if (!steps.empty() && steps.back()[2] == step[2] && steps.back()[3] == step[3])
        steps.back()[1] = step[1];
      else
        steps.push_back(step);
    }
    text += fmt::format("<clipPath id='area{0}' clipPathUnits='objectBoundingBox'><path d='{1}'/></clipPath>"
                        "<rect class='{2}' width='100%' height='100%' clip-path='url(#area{0})'/>\n",
                        index, outline(steps), layer.style);
  }
  return text;
}

/// Invisible columns that say what is alive when they are pointed at.
std::string hovers(const View &view, const std::vector<int64_t> &total) {
  std::string text;
  for (std::pair<int, int> column : columnsOf(view, kHoverColumns)) {
    int at = tallest(total, column);
    const Command &command = view.problem.commands[at];
    std::string what;
    for (auto layer = view.layers.rbegin(); layer != view.layers.rend(); ++layer)
      if (layer->bytes[at] > 0)
        what += fmt::format("{} {} {}", what.empty() ? ":" : ",", shortened(layer->name),
                            formatBytes(layer->bytes[at]));
    double x = view.starts[column.first], width = view.starts[column.second] - x;
    text += fmt::format("{}><title>{}, {}{}</title></rect>\n", styledRect("see", x, 0, width, 1),
                        escape(shortened(command.node.empty() ? command.kernel : command.node)),
                        formatBytes(total[at]), escape(what));
  }
  return text;
}

/// A line and a label at a moment, the label on the side that has room.
std::string moment(double x, const std::string &y, const std::string &label, const char *style) {
  bool right = x < 0.5;
  return fmt::format(
      "<line class='{0}' x1='{1}' x2='{1}' y1='0' y2='100%'/><text class='note' x='{1}' y='{2}' "
      "dx='{3}' text-anchor='{4}'>{5}</text>\n",
      style, percent(x), y, right ? 6 : -6, right ? "start" : "end", escape(label));
}

std::string chart(const View &view) {
  std::vector<int64_t> total(view.problem.commands.size(), 0);
  for (const Layer &layer : view.layers)
    for (size_t at = 0; at < total.size(); ++at)
      total[at] += layer.bytes[at];
  auto peak = static_cast<double>(total[view.peak.command]), budget = static_cast<double>(view.search.budget);
  bool showsBudget = budget < 1.8 * peak;
  // Room for two lines of text above the budget: its own label, and at the top the peak's.
  Axis axis(0, 1.13 * (showsBudget ? std::max(peak, budget) : peak));
  ByteUnit unit = unitOf(static_cast<int64_t>(axis.high()));
  std::string text = "<figure class='chart'><svg height='300' role='img' aria-label='memory over a step'>\n";
  Axis inUnits(0, axis.high() / static_cast<double>(unit.bytes));
  std::vector<double> ticks = inUnits.ticks(5);
  text += areas(view, axis, total);
  for (double tick : ticks)
    text += gridLine(inUnits, tick,
                     tickText(tick, ticks.size() > 1 ? ticks[1] : 1) +
                         (tick == ticks.back() ? fmt::format(" {}", unit.name) : ""));
  if (view.lossCommand != kNoIndex)
    text += moment(view.starts[view.lossCommand], "100%", "", "loss");
  text += moment((view.starts[view.peak.command] + view.starts[view.peak.command + 1]) / 2, "14",
                 "peak " + formatBytes(total[view.peak.command]), "peak");
  if (showsBudget) {
    bool left = view.starts[view.peak.command] >= 0.5; // away from the peak's label
    text += fmt::format("<line class='limit' x1='0' x2='100%' y1='{0}' y2='{0}'/><text class='note' x='{1}' "
                        "y='{0}' dy='-5' text-anchor='{2}'>budget {3}</text>\n",
                        percent(axis.at(budget)), left ? "4" : "100%", left ? "start" : "end",
                        formatBytes(view.search.budget));
  }
  text += hovers(view, total) + "</svg>\n";
  return text;
}

/// The names of the phases under the drawing, as wide as they are; the pass within a micro-step where known.
std::string phaseBar(const View &view) {
  std::string text = "<svg height='22' class='phases'>\n";
  auto band = [&](int begin, int end, const std::string &name, bool isOdd) {
    double x = view.starts[begin], width = view.starts[end] - x;
    text += fmt::format("{}><title>{}</title></rect>", styledRect(isOdd ? "odd" : "even", x, 0, width, 1),
                        escape(name));
    if (width > 0.07)
      text += fmt::format("<text x='{}' y='15' text-anchor='middle'{}>{}</text>\n", percent(x + width / 2),
                          width < 0.2 ? " class='wide'" : "", escape(name));
  };
  bool isOdd = false;
  for (const PhaseSpan &span : view.phases) {
    const Phase &phase = view.problem.phases[span.phase];
    std::string name = labelOf(phase);
    if (phase.kind == PhaseKind::Main && view.plan->cut.steps > 1)
      name += fmt::format(" (1 of {})", view.plan->cut.steps);
    if (phase.kind == PhaseKind::Main && view.lossCommand != kNoIndex) {
      band(span.begin, view.lossCommand, "forward", isOdd = !isOdd);
      band(view.lossCommand, span.end, "loss, backward", isOdd = !isOdd);
    } else {
      band(span.begin, span.end, name, isOdd = !isOdd);
    }
  }
  return text + "</svg>\n";
}

std::string legend(const View &view) {
  std::string text = "<ul class='legend'>\n";
  for (auto layer = view.layers.rbegin(); layer != view.layers.rend(); ++layer)
    text +=
        fmt::format("<li>{} {} <span>{}</span></li>\n", swatch(layer->style), escape(shortened(layer->name)),
                    layer->atPeak > 0 ? formatBytes(layer->atPeak) : "none at the peak");
  return text + "</ul>\n";
}

std::string peakTable(const View &view) {
  std::vector<TensorGroup> groups = groupTensors(view.peak.tensors);
  std::string text = fmt::format(
      "<h3>The peak</h3>\n<p>{} of scratch at <b>{}</b>. The largest there:</p>\n"
      "<table id='peak'><tr><th>tensor, by module or ONNX node</th><th>each</th><th>all</th></tr>\n",
      bytesMark(view.peak.bytes), escape(shortened(view.peak.where, 160)));
  for (size_t index = 0; index < std::min(kPeakRows, groups.size()); ++index) {
    const TensorGroup &group = groups[index];
    text += fmt::format("<tr><td>{}{}</td><td>{}</td><td>{}</td></tr>\n", escape(shortened(group.label)),
                        group.count > 1 ? fmt::format(" <small>x {}</small>", group.count) : "",
                        bytesMark(group.bytesEach), bytesMark(group.bytesEach * group.count));
  }
  if (groups.size() > kPeakRows)
    text += fmt::format("<tr><td colspan='3'>{} smaller groups</td></tr>\n", groups.size() - kPeakRows);
  return text + "</table>\n";
}

std::string lineTable(const View &view) {
  std::string text = "<h3>Line by line</h3>\n<table id='memory'><tr><th>per device</th><th>bytes</th></tr>\n";
  const Plan &plan = *view.plan;
  for (const MemoryLine &line : view.memory)
    text += fmt::format("<tr><td>{}{}</td><td>{}</td></tr>\n", escape(shortened(line.name)),
                        line.kind == MemoryClass::Context ? " <small>gone before the budget</small>" : "",
                        bytesMark(line.bytes));
  text += fmt::format("<tr class='sum'><td>arena{}</td><td>{}</td></tr>\n",
                      plan.scratch == plan.lowerBound ? " <small>= lower bound: no packing is smaller</small>"
                                                      : "",
                      bytesMark(plan.arena()));
  text += fmt::format("<tr class='sum'><td>out of the budget of {}</td><td>{}</td></tr>\n",
                      formatBytes(view.search.budget), bytesMark(plan.counted()));
  if (int64_t context = contextOf(view.search); context > 0)
    text += fmt::format("<tr class='sum'><td>with what the driver takes, of {}</td><td>{}</td></tr>\n",
                        formatBytes(view.search.memoryTotal), bytesMark(plan.counted() + context));
  return text + "</table>\n";
}

} // namespace

std::string memorySection(const View &view) {
  if (!view.plan || view.peak.command == kNoIndex)
    return "<section id='memory-over-time'><h2>Memory over a step</h2><p>Nothing is kept between "
           "commands.</p></section>\n";
  return fmt::format(
      "<section id='memory-over-time'><h2>Memory over a step</h2>\n"
      "<p>One iteration of each part in predicted time. {}</p>\n{}{}"
      "<figcaption class='readout'>Point at the picture to see what is alive.</figcaption></figure>\n{}"
      "<div class='pair'><div>{}</div><div>{}</div></div></section>\n",
      view.search.budget >= view.plan->counted() * 9 / 5
          ? fmt::format("The budget, {}, is above the picture.", formatBytes(view.search.budget))
          : "",
      chart(view), phaseBar(view), legend(view), peakTable(view), lineTable(view));
}

} // namespace accum::planner::report
