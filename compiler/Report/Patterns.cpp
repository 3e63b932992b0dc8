// SPDX-License-Identifier: Apache-2.0
// Fills that differ in lightness and in pattern, so that a page printed in black and white still reads.
#include "compiler/Report/Markup.h"
#include "compiler/Report/Sections.h"
#include <fmt/format.h>

namespace accum::planner::report {

namespace {

struct Fill {
  const char *style, *colour, *mark; ///< `mark`: what is drawn over the colour, in an 8 x 8 tile
};

constexpr const char *kWhite = "stroke='#fff' stroke-width='1.1' fill='none'";

const Fill kFills[] = {
    {"s0", "#24405c", ""},
    {"s1", "#3d6d94", "<path d='M-2 2l4-4M0 8l8-8M6 10l4-4' {}/>"},
    {"s2", "#8fb3cf",
     "<circle cx='2' cy='2' r='1.1' fill='#24405c'/><circle cx='6' cy='6' r='1.1' fill='#24405c'/>"},
    {"s3", "#c9d6e0", "<path d='M0 4h8' stroke='#5b7286' stroke-width='.8'/>"},
    {"oth", "#e6e3dc", "<path d='M4 0v8' stroke='#aaa395' stroke-width='.8'/>"},
    {"act", "#f3c567", ""},
    {"log", "#b8452f", "<path d='M0 0l8 8M8 0l-8 8' {}/>"},
    {"gra", "#6f9c53", "<path d='M-2 6l4 4M0 0l8 8M6-2l4 4' {}/>"},
    {"wor", "#8c7aa6", "<path d='M2 0v8M6 0v8' {}/>"},
    {"io", "#d9d2b8", "<path d='M0 2h8M0 6h8' stroke='#8a8262' stroke-width='.8'/>"},
    {"tot", "#555", ""},
    {"con", "#b0a99f", "<path d='M4 1v6M1 4h6' stroke='#4b463f' stroke-width='.8'/>"},
};

} // namespace

std::string patternDefinitions() {
  std::string text = "<svg width='0' height='0' class='defs' aria-hidden='true'><defs>\n";
  for (const Fill &fill : kFills)
    text += fmt::format("<pattern id='p-{}' width='8' height='8' patternUnits='userSpaceOnUse'>"
                        "<rect width='8' height='8' fill='{}'/>{}</pattern>\n",
                        fill.style, fill.colour, fmt::format(fmt::runtime(fill.mark), kWhite));
  text += "</defs></svg>\n<style>\n";
  for (const Fill &fill : kFills)
    text += fmt::format(".{} {{ fill: url(#p-{}) }}\n", fill.style, fill.style);
  return text + "</style>\n";
}

std::string styledRect(const std::string &style, double x, double y, double width, double height) {
  return fmt::format("<rect class='{}' x='{}' y='{}' width='{}' height='{}'", style, percent(x), percent(y),
                     percent(width), percent(height));
}

std::string swatch(const std::string &style) {
  return fmt::format(
      "<svg class='swatch' width='22' height='14'><rect class='{}' width='22' height='14'/></svg>", style);
}

} // namespace accum::planner::report
