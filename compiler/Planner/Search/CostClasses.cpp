// SPDX-License-Identifier: Apache-2.0
#include "compiler/Planner/Search/CostClasses.h"
#include <fmt/format.h>
#include <string>
#include <unordered_map>

namespace accum::planner {

namespace {

/// Everything that the time of a command's variant follows from.
std::string timedAs(const Command &command, const Variant &way) {
  std::string text =
      fmt::format("{} {} {} {} {} {} {} {} {}", static_cast<int>(command.kind), command.dtype,
                  toText(way.flops), toText(way.bytes), toText(command.carried), way.slice, way.pieces,
                  way.isBeside, way.call.name.empty() ? std::string() : toText(way.call));
  for (const OperationCount &count : way.work)
    text += " " + toText(count);
  return text;
}

} // namespace

CostClasses classifyCosts(const Problem &problem, const std::function<bool(int)> &matters) {
  CostClasses result;
  std::unordered_map<std::string, int> classes;
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    const Command &command = problem.commands[index];
    std::vector<int> &row = result.of.emplace_back();
    if (command.variants.size() <= 1 && !matters(static_cast<int>(index)))
      continue;
    auto add = [&](const Variant &way) {
      auto [at, isNew] = classes.emplace(timedAs(command, way), static_cast<int>(result.stands.size()));
      if (isNew)
        result.stands.emplace_back(static_cast<int>(index), static_cast<int>(row.size()));
      row.push_back(at->second);
    };
    for (const Variant &way : command.variants)
      add(way);
    if (command.companion.command != kNoIndex)
      add(command.companion.costs);
  }
  return result;
}

} // namespace accum::planner
