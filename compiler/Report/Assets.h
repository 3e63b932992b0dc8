// SPDX-License-Identifier: Apache-2.0
// page.css and page.js, compiled in.
#pragma once
#include <string_view>

namespace accum::planner::report {

std::string_view pageStyle();
std::string_view pageScript();

} // namespace accum::planner::report
