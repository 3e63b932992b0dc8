// SPDX-License-Identifier: Apache-2.0
// The timeline of a step, and what is computed again to save memory.
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Report/Markup.h"
#include "compiler/Report/Sections.h"
#include "compiler/Report/TensorNames.h"
#include <algorithm>
#include <fmt/format.h>

namespace accum::planner::report {

namespace {

constexpr int64_t kBoxes = 64; ///< micro-steps drawn one by one at most

struct Lane {
  std::string style, name;
};

Lane laneOf(const std::string &name, const Problem &problem) {
  if (name == "micro-steps")
    return {"act", "micro-step"};
  if (name == "update")
    return {"s2", name};
  if (name == "feed" || std::ranges::count(problem.phases, name, &Phase::name) > 0)
    return {"io", name};
  return {name == "once per step" ? "con" : "s1", name};
}

std::string box(const Lane &lane, double x, double width, const std::string &title, const std::string &label,
                double top) {
  std::string text = fmt::format("{}><title>{}</title></rect>\n",
                                 styledRect(lane.style + " box", x, top, width, 0.42), escape(title));
  if (width > 0.05)
    text += fmt::format("<text class='name{}' x='{}' y='{}' dy='5' text-anchor='middle'>{}</text>\n",
                        width < 0.15 && label.size() > 2 ? " wide" : "", percent(x + width / 2),
                        percent(top + 0.21), escape(label));
  return text;
}

/// The lines as they follow each other: what is recomputed is a part of the micro-steps, and weights are
/// gathered once they are updated.
std::vector<TimeLine> inOrder(std::vector<TimeLine> lines) {
  auto micro = std::ranges::find(lines, "micro-steps", &TimeLine::name);
  auto again = std::ranges::find(lines, "recomputation", &TimeLine::name);
  if (micro != lines.end() && again != lines.end()) {
    micro->seconds += again->seconds;
    lines.erase(again);
  }
  auto gather = std::ranges::find(lines, "all-gather of weights", &TimeLine::name);
  if (gather != lines.end())
    std::rotate(gather, gather + 1, lines.end());
  return lines;
}

/// Copies over the link to the host go on beside every micro-step, sums beside the last one.
bool isBesideAll(const TimeLine &line) { return line.name.starts_with("offload") || line.name == "feed"; }

/// Boxes in the order of time, to scale; communication below the arithmetic.
std::string timeline(const Plan &plan, const Problem &problem) {
  double total = plan.seconds(), at = 0;
  std::string text =
      "<figure class='chart flat'><svg height='96' role='img' aria-label='timeline of a step'>\n";
  for (const TimeLine &line : inOrder(plan.time)) {
    Lane lane = laneOf(line.name, problem);
    double width = total > 0 ? line.seconds / total : 0;
    bool talks =
        line.name.find("reduce") != std::string::npos || line.name.find("gather") != std::string::npos;
    double hidden = total > 0 ? line.hidden / total : 0;
    if (hidden > 0) { // it began beside what stands before it
      std::string title = fmt::format("{}: {}, {} of it exposed", lane.name,
                                      formatSeconds(line.hidden + line.seconds), formatSeconds(line.seconds));
      double begin = isBesideAll(line) ? 0 : std::max(0.0, at - hidden);
      text += box(lane, begin, at + width - begin, title, lane.name, 0.54);
      at += width;
      continue;
    }
    int64_t boxes = line.name == "micro-steps" && plan.cut.steps <= kBoxes ? plan.cut.steps : 1;
    for (int64_t index = 0; index < boxes; ++index) {
      auto parts = static_cast<double>(boxes);
      std::string name = lane.name, label = lane.name;
      if (boxes > 1) {
        name = fmt::format("{} {} of {}", lane.name, index + 1, boxes);
        label = fmt::format("{}", index + 1);
      } else if (line.name == "micro-steps" && plan.cut.steps > 1) {
        name = label = fmt::format("{} micro-steps", plan.cut.steps);
      }
      text +=
          box(lane, at + width * static_cast<double>(index) / parts, width / parts,
              fmt::format("{}: {}", name, formatSeconds(line.seconds / parts)), label, talks ? 0.54 : 0.04);
    }
    at += width;
  }
  return text + "</svg>\n<figcaption class='readout'>Point at a part to see how long it "
                "takes.</figcaption></figure>\n";
}

std::string timeTable(const View &view) {
  const Plan &plan = *view.plan;
  std::string text = "<table id='time'><tr><th>part</th><th>predicted</th><th>share</th></tr>\n";
  for (const TimeLine &line : plan.time) {
    std::string name = line.name;
    if (name == "micro-steps" && plan.cut.steps > 1)
      name = fmt::format("{} micro-steps of {}", plan.cut.steps,
                         formatSeconds(line.seconds / static_cast<double>(plan.cut.steps)));
    if (name == "recomputation")
      name += ", within the micro-steps";
    if (line.hidden > 0)
      name += fmt::format(", {} more beside the {}", formatSeconds(line.hidden),
                          isBesideAll(line) ? "micro-steps" : "last micro-step");
    text +=
        fmt::format("<tr><td>{}</td><td>{}</td><td>{:.1f} %</td></tr>\n", escape(name),
                    secondsMark(line.seconds), plan.seconds() > 0 ? 100 * line.seconds / plan.seconds() : 0);
  }
  return text + fmt::format("<tr class='sum'><td>a step</td><td>{}</td><td></td></tr>\n</table>\n",
                            secondsMark(plan.seconds()));
}

/// The module of what a command makes, else its node.
std::string nameOf(const Problem &problem, int index) {
  for (const Buffer &buffer : problem.buffers)
    if (buffer.producer == index && !buffer.label.empty())
      return buffer.label;
  const Command &command = problem.commands[static_cast<size_t>(index)];
  return command.node.empty() ? command.kernel : command.node;
}

} // namespace

std::string stepSection(const View &view) {
  if (!view.plan)
    return "";
  return fmt::format(
      "<section id='step'><h2>The timeline of a step</h2>\n<p>{} micro-step{} of up to {} samples, then "
      "the update{}; predicted with {} rates.</p>\n{}{}</section>\n",
      countMark(view.plan->cut.steps), view.plan->cut.steps == 1 ? "" : "s", countMark(view.plan->cut.m),
      view.search.devices > 1 ? fmt::format(" behind a reduction over {} devices", view.search.devices) : "",
      escape(view.plan->basis), timeline(*view.plan, view.problem), timeTable(view));
}

std::string recomputeSection(const View &view) {
  if (!view.plan)
    return "";
  std::string text = "<section id='recompute'><h2>Recomputed</h2>\n";
  if (!view.search.slices.empty())
    text += fmt::format("<p>Besides: {}, one behind the other, so that logits are never whole.</p>\n",
                        escape(view.search.slices));
  if (view.plan->recompute.empty())
    return text +
           "<p>Nothing: every activation is kept from the forward to the backward pass.</p></section>\n";
  std::vector<PeakTensor> commands;
  double seconds = 0;
  for (size_t index = 0; index < view.problem.commands.size(); ++index) {
    const Command &command = view.problem.commands[index];
    if (command.cloneOf < 0)
      continue;
    seconds += view.seconds[index];
    commands.push_back({nameOf(view.problem, static_cast<int>(index))});
  }
  text +=
      fmt::format("<p>{} commands run again in the backward pass instead of keeping what they made: {} per "
                  "micro-step.</p>\n<ul class='recomputed'>\n",
                  countMark(static_cast<int64_t>(commands.size())), secondsMark(seconds));
  for (const TensorGroup &group : groupTensors(commands))
    text += fmt::format("<li>{}{}</li>\n", escape(shortened(group.label)),
                        group.count > 1 ? fmt::format(" <small>x {}</small>", group.count) : "");
  return text + "</ul></section>\n";
}

} // namespace accum::planner::report
