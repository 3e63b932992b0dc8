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

/// One of several sizes in one program.
struct LengthRow {
  std::string size = {}; ///< "128", or "128x32"
  int64_t microBatch = 1;
  double seconds = 0; ///< of a micro-step
  int64_t places = 1; ///< of a micro-step
  int64_t arena = 0;  ///< bytes
};

/// The page of the largest size with a section of all, the largest last. dims: their names.
std::string withLengths(std::string page, const std::string &dims, const std::vector<LengthRow> &rows);

/// The page of a search, also of one that found nothing: then it shows the smallest plan there is. Costs
/// several searches. Errors are those of `solve`.
Result<std::string> writePage(const Problem &problem, const DeviceProfile &profile, const Options &options,
                              const Search &search, const PageFacts &facts);

} // namespace accum::planner::report
