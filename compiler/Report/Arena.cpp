// SPDX-License-Identifier: Apache-2.0
// The arena as rectangles: time x address.
#include "base/FormatBytes.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Report/Axis.h"
#include "compiler/Report/Markup.h"
#include "compiler/Report/Sections.h"
#include "compiler/Report/TensorNames.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace accum::planner::report {

namespace {

/// Rectangles drawn at most, the largest areas first: what is left out could not be seen.
constexpr size_t kRectangles = 4000;
/// Pixels of the drawing on a desktop.
constexpr double kWidth = 900, kHeight = 460;

std::string rectangle(const View &view, const Block &block, double height) {
  double x = view.starts[block.start], width = view.starts[block.end] - x;
  double tall = static_cast<double>(block.size) / height,
         y = 1 - static_cast<double>(block.offset + block.size) / height;
  auto nodeOf = [&](int command) {
    const Command &entry = view.problem.commands[command];
    return shortened(entry.node.empty() ? entry.kernel : entry.node);
  };
  // An outline would hide what is thinner than itself.
  std::string style = styleOf(block.kind);
  if (tall * kHeight < 3 || width * kWidth < 3)
    style += " thin";
  std::string text = fmt::format("{}><title>{}: {} at {}, from {} to {}</title></rect>",
                                 styledRect(style, x, y, width, tall), escape(shortened(block.label)),
                                 formatBytes(block.size), formatBytes(block.offset),
                                 escape(nodeOf(block.start)), escape(nodeOf(block.end - 1)));
  auto letters = static_cast<size_t>(width * kWidth / 8);
  if (tall > 0.045 && letters >= 6)
    text += fmt::format("<text class='wide name' x='{}' y='{}' dx='5' dy='4'>{}</text>", percent(x),
                        percent(y + tall / 2), escape(shortened(block.label, letters)));
  return text + "\n";
}

} // namespace

std::string arenaSection(const View &view) {
  if (!view.plan || view.blocks.empty())
    return "";
  const Plan &plan = *view.plan;
  std::vector<size_t> order(view.blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  auto area = [&](size_t index) {
    const Block &block = view.blocks[index];
    return static_cast<double>(block.size) * (view.starts[block.end] - view.starts[block.start]);
  };
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(-area(a), a) < std::pair(-area(b), b); });
  size_t left = order.size() > kRectangles ? order.size() - kRectangles : 0;
  order.resize(order.size() - left);
  auto height = static_cast<double>(plan.scratch);
  ByteUnit unit = unitOf(plan.scratch);
  Axis axis(0, unit.of(plan.scratch));
  std::string text = fmt::format(
      "<section id='arena'><h2>The arena</h2>\n<p>Every buffer between commands: when it lives "
      "and where. {} of "
      "scratch hold {} storages; {}. The state ({}) is a range of its own.{}</p>\n"
      "<figure class='chart'><svg height='{}' class='blocks' role='img' aria-label='arena, time "
      "by address'>\n",
      bytesMark(plan.scratch), countMark(static_cast<int64_t>(view.blocks.size())),
      plan.scratch == plan.lowerBound
          ? "this is the largest load at any moment, so no packing is smaller"
          : fmt::format("the largest load at any moment is {}", formatBytes(plan.lowerBound)),
      formatBytes(plan.state),
      left > 0 ? fmt::format(" {} of them are too small to be seen and left out.", left) : "", kHeight);
  for (size_t index : order)
    text += rectangle(view, view.blocks[index], height);
  std::vector<double> ticks = axis.ticks(5);
  for (double tick : ticks)
    text += gridLine(axis, tick,
                     tickText(tick, ticks.size() > 1 ? ticks[1] : 1) +
                         (tick == ticks.back() ? fmt::format(" {}", unit.name) : ""));
  return text + "</svg>\n<figcaption class='readout'>Point at a rectangle to see its name, size and "
                "lifetime.</figcaption></figure></section>\n";
}

} // namespace accum::planner::report
