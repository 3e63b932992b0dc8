// SPDX-License-Identifier: Apache-2.0
// Words for choices.
#include "compiler/Planner/Reasons.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace accum::planner {

std::string describeRecomputation(const Problem &problem, const TimeModel &times, const Choice &choice) {
  std::map<std::string, double> byKernel;
  int again = 0, all = 0;
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    const Command &command = problem.commands[index];
    all += command.region == Region::Micro ? 1 : 0;
    if (choice.recomputed[index] == 0)
      continue;
    ++again;
    byKernel[command.kernel] += times.seconds(static_cast<int>(index), choice.variants[index], 1);
  }
  if (again == 0)
    return {};
  std::vector<std::pair<double, std::string>> kernels;
  for (const auto &[kernel, seconds] : byKernel)
    kernels.emplace_back(-seconds, kernel);
  std::ranges::sort(kernels);
  std::string names = kernels[0].second;
  if (kernels.size() > 1)
    names += ", " + kernels[1].second;
  return fmt::format("{} of {} commands ({}{})", again, all, names, kernels.size() > 2 ? ", ..." : "");
}

} // namespace accum::planner
