// SPDX-License-Identifier: Apache-2.0
// A plan laid out in time and address.
#include "compiler/Report/View.h"
#include "compiler/Planner/Problem/Recompute.h"
#include "compiler/Planner/Search/Storage.h"
#include "compiler/Planner/Time/TimeModel.h"
#include <algorithm>
#include <unordered_map>

namespace accum::planner::report {

const char *styleOf(BufferKind kind) {
  static constexpr const char *styles[] = {"act", "log", "gra", "wor", "io", "tot", "con"};
  return styles[static_cast<int>(kind)];
}

namespace {

void placeCommands(const TimeModel &times, int64_t m, View &view) {
  double total = 0;
  const std::vector<Command> &commands = view.problem.commands;
  for (size_t index = 0; index < commands.size(); ++index) {
    view.seconds.push_back(times.command(index, m).total);
    total += view.seconds.back();
    int at = static_cast<int>(index);
    if (view.phases.empty() || view.phases.back().phase != commands[index].phase)
      view.phases.push_back({commands[index].phase, at, at});
    view.phases.back().end = at + 1;
    bool isLoss = commands[index].kind == CommandKind::Loss && view.problem.isMain(commands[index]);
    if (view.lossCommand == kNoIndex && isLoss)
      view.lossCommand = at;
  }
  double sum = 0;
  for (double seconds : view.seconds) {
    view.starts.push_back(total > 0 ? sum / total : 0);
    sum += seconds;
  }
  view.starts.push_back(1);
}

/// Every storage where it stands; one whose place a later one takes ends there.
std::vector<Block> blocksOf(const Problem &problem, const Plan &plan) {
  Lifetimes lifetimes(problem);
  Layout layout = layOut(problem, lifetimes, plan.cut.m, plan.alignment);
  std::unordered_map<std::string, int64_t> slots(plan.slots.begin(), plan.slots.end());
  std::vector<std::vector<int>> tenants(layout.blocks.size());
  for (size_t index = 0; index < problem.buffers.size(); ++index)
    if (int at = layout.blockOfBuffer[index]; at != kNoIndex &&
                                              lifetimes.root[index] == static_cast<int>(index) &&
                                              !lifetimes.life[index].isEmpty())
      tenants[at].push_back(static_cast<int>(index));
  std::vector<Block> blocks;
  for (size_t at = 0; at < tenants.size(); ++at) {
    std::sort(tenants[at].begin(), tenants[at].end(), [&](int a, int b) {
      return std::pair(lifetimes.life[a].start, a) < std::pair(lifetimes.life[b].start, b);
    });
    for (size_t turn = 0; turn < tenants[at].size(); ++turn) {
      const Buffer &buffer = problem.buffers[tenants[at][turn]];
      bool isLast = turn + 1 == tenants[at].size();
      int end = isLast ? layout.blocks[at].end : lifetimes.life[tenants[at][turn + 1]].start;
      blocks.push_back({lifetimes.life[tenants[at][turn]].start, end, slots[buffer.id],
                        layout.blocks[at].size, buffer.kind,
                        buffer.label.empty() ? buffer.id : buffer.label});
    }
  }
  for (size_t index = 0; index < problem.commands.size(); ++index)
    if (int at = layout.blockOfWorkspace[index]; at != kNoIndex) {
      const Command &command = problem.commands[index];
      const Rectangle &place = layout.blocks[at];
      blocks.push_back({place.start, place.end, slots[std::to_string(command.id) + ":w"], place.size,
                        BufferKind::Workspace,
                        "workspace of " + (command.node.empty() ? command.kernel : command.node)});
    }
  return blocks;
}

/// State at the bottom, then what else is always there, then the scratch by kind.
void stackLayers(View &view) {
  size_t commands = view.problem.commands.size();
  static constexpr const char *stateStyles[] = {"s0", "s1", "s2", "s3"};
  size_t states = 0;
  int64_t others = 0;
  for (const MemoryLine &line : view.memory) {
    if (line.kind == MemoryClass::State)
      view.layers.push_back(
          {line.name, stateStyles[std::min<size_t>(states++, 3)], std::vector(commands, line.bytes)});
    else if (line.kind != MemoryClass::Scratch && line.kind != MemoryClass::Context)
      others += line.bytes;
  }
  if (others > 0)
    view.layers.push_back({"inputs, libraries, run time", "oth", std::vector(commands, others)});
  static constexpr const char *names[] = {
      "activations",       "logits", "activation gradients", "library workspaces",
      "inputs in scratch", "totals", "per-step values"};
  for (BufferKind kind : {BufferKind::Constant, BufferKind::Total, BufferKind::Io, BufferKind::Activation,
                          BufferKind::Logits, BufferKind::Gradient, BufferKind::Workspace}) {
    std::vector<int64_t> load(commands + 1, 0);
    for (const Block &block : view.blocks)
      if (block.kind == kind)
        load[block.start] += block.size, load[block.end] -= block.size;
    for (size_t index = 1; index < commands; ++index)
      load[index] += load[index - 1];
    load.pop_back();
    if (std::any_of(load.begin(), load.end(), [](int64_t bytes) { return bytes > 0; }))
      view.layers.push_back({names[static_cast<int>(kind)], styleOf(kind), std::move(load)});
  }
  for (Layer &layer : view.layers)
    layer.atPeak = view.peak.command == kNoIndex ? 0 : layer.bytes[view.peak.command];
}

} // namespace

Result<View> makeView(const Problem &problem, const DeviceProfile &profile, const Options &options,
                      const Search &search, const PageFacts &facts) {
  View view{problem, profile, search, facts};
  Result<BudgetAnswers> budgets = askBudgets(problem, profile, options, search);
  if (!budgets)
    return budgets.error();
  view.budgets = *budgets;
  view.plan = search.plan;
  view.peak = search.peak;
  view.memory = search.memory;
  if (!view.plan) {
    Options least = options;
    least.budget = search.candidates[search.smallest].counted;
    Result<Search> answer = solve(problem, profile, least);
    if (!answer)
      return answer.error();
    view.plan = answer->plan;
    view.peak = answer->peak;
    view.memory = answer->memory;
  }
  if (!view.plan)
    return view;
  Result<Problem> runs = problemThatRuns(problem, *view.plan);
  if (!runs)
    return runs.error();
  view.problem = *runs;
  placeCommands(TimeModel(view.problem, profile, search.devices), view.plan->cut.m, view);
  view.blocks = blocksOf(view.problem, *view.plan);
  stackLayers(view);
  return view;
}

} // namespace accum::planner::report
