// SPDX-License-Identifier: Apache-2.0
// The table of a plan's commands: those of one kernel and shape together, the longest first.
#include "compiler/Planner/Time/TimeModel.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace accum::planner {

static std::string describe(const CallShape &call, int64_t m) {
  std::string text = call.name;
  for (size_t index = 0; index < call.sizes.size(); ++index)
    text += fmt::format("{}{}", index == 0 ? ' ' : 'x', call.sizes[index].at(m));
  return text;
}

/// How often a phase runs in a step.
static int64_t runs(PhaseKind kind, int64_t steps) {
  return kind == PhaseKind::Rest ? steps - 1 : isLoop(kind) ? steps : 1;
}

std::vector<CommandTime> TimeModel::commands(const Cut &cut) const {
  std::map<std::tuple<int, std::string_view, std::string, bool>, CommandTime> groups;
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    const Command &each = problem.commands[index];
    const Variant &variant = each.variants.front();
    if (each.tail && each.cloneOf < 0)
      continue; // part of the one before it
    std::string call = describe(variant.call, cut.m);
    int phase = problem.timedIn(each);
    CommandTime &group = groups[{phase, each.kernel, call, each.tail}];
    double seconds = command(index, cut.m).total, far = farBytes(index, variant, cut.m);
    if (auto before = static_cast<double>(group.count++); before > 0) { // not all find the same in a cache
      group.seconds = (before * group.seconds + seconds) / (before + 1);
      group.farBytes = (before * group.farBytes + far) / (before + 1);
      continue;
    }
    Time time = timeOf(index, variant, cut.m, 1, missed);
    group = {each.kernel,
             call,
             phase,
             problem.phases[phase],
             1,
             runs(problem.phases[phase].kind, cut.steps),
             seconds,
             time.source,
             variant.bytes.real(cut.m),
             far};
    for (const OperationCount &count : variant.work)
      group.work.emplace_back(count.operation, count.elements.real(cut.m));
  }
  std::vector<CommandTime> sorted;
  for (auto &[key, group] : groups)
    sorted.push_back(std::move(group));
  auto whole = [](const CommandTime &group) {
    return -group.seconds * static_cast<double>(group.count) * static_cast<double>(group.runs);
  };
  std::ranges::sort(sorted, {}, [&](const CommandTime &group) {
    return std::tuple(whole(group), group.phase, group.kernel, group.call);
  });
  return sorted;
}

const char *toText(TimeSource source) {
  constexpr const char *kNames[] = {"table", "costs", "rates"};
  return kNames[static_cast<int>(source)];
}

} // namespace accum::planner
