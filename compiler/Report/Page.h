// SPDX-License-Identifier: Apache-2.0
// The plan as one self-contained HTML page (`--report`): inline SVG, no network, well-formed XML.
#pragma once
#include "compiler/Planner/Search/Solve.h"
#include <string>
#include <utility>
#include <vector>

namespace accum::planner::report {

/// What the planner cannot know of the run, for people.
struct PageFacts {
  std::string title = {};                                     ///< the model's file name
  std::vector<std::pair<std::string, std::string>> rows = {}; ///< name, text: model, loss, versions
  std::string commandLine = {};
};

/// The page of a search, also of one that found nothing: then it shows the smallest plan there is. Costs
/// several searches. Errors are those of `solve`.
Result<std::string> writePage(const Problem &problem, const DeviceProfile &profile, const Options &options,
                              const Search &search, const PageFacts &facts);

} // namespace accum::planner::report
