// SPDX-License-Identifier: Apache-2.0
// The sections of the page, each a `<section>` of HTML.
#pragma once
#include "compiler/Report/View.h"

namespace accum::planner::report {

std::string summarySection(const View &view);
std::string memorySection(const View &view);
std::string arenaSection(const View &view);
std::string candidatesSection(const View &view);
std::string recomputeSection(const View &view);
std::string stepSection(const View &view);
std::string budgetSection(const View &view);
std::string factsSection(const View &view);

/// The patterns that styles name, for the whole page.
std::string patternDefinitions();
/// `<rect>` filled with a style; x, y, width, height in fractions of the drawing.
std::string styledRect(const std::string &style, double x, double y, double width, double height);
/// A legend's swatch.
std::string swatch(const std::string &style);

} // namespace accum::planner::report
