// SPDX-License-Identifier: Apache-2.0
#include "compiler/Driver/SplitBatch.h"
#include "base/FormatBytes.h"
#include "compiler/Driver/WholeBatch.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Planner/Time/DeviceProfile.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace accum::driver {

/// Of the state, for a parameter that is no layer.
static constexpr int64_t kScalarBytes = 256;

/// A message with its slug; empty: nothing is in the way.
static std::string refusal(const Options &options) {
  if (options.batch == 0)
    return "--on-cross-batch split: the batch size becomes part of the program: --batch N is missing [usage]";
  auto notBuilt = [](const std::string &what) {
    return fmt::format("--on-cross-batch split: {} is not built for a batch that is split [not-built]", what);
  };
  if (!options.metric.empty())
    return notBuilt("--metric " + options.metric);
  if (options.microBatchText.starts_with("explore"))
    return notBuilt("--micro-batch " + options.microBatchText);
  return {};
}

std::optional<Options> settleSplit(const Options &options, const Check &check) {
  Checked found = check(checkAlone(options));
  if (!found.relatesSamples)
    return options;
  if (std::string why = refusal(options); !why.empty()) {
    options.sink->message({Severity::Error, "", why, {}});
    return std::nullopt;
  }
  Options split = options;
  split.splitBatch = true;
  bool grows = true;
  // What import refuses is left out by itself; what the check refuses is named to the next try.
  while (grows) {
    grows = false;
    for (const std::string &node : found.nodes)
      if (!node.empty() && std::ranges::find(split.meeting, node) == split.meeting.end()) {
        split.meeting.push_back(node);
        grows = true;
      }
    if (Checked next = check(checkAlone(split)); next.relatesSamples) {
      grows |= found.nodes != next.nodes;
      found = next;
    } else {
      break;
    }
  }
  return split;
}

std::string splitNote(const Options &options, const Check &check, const Plan &plan) {
  Options trial = wholeBatchTrial(options);
  trial.wholeBatch = false;
  trial.microBatchText = options.microBatchText;
  trial.devices = options.devices;
  if (!refusal(trial).empty())
    return {};
  std::optional<Options> split = settleSplit(trial, check);
  if (!split || !split->splitBatch)
    return {};
  planner::Search search = plan(*split);
  if (!search.plan)
    return {};
  int64_t bytes = 0;
  for (const planner::MemoryLine &line : search.memory)
    bytes += line.bytes;
  return fmt::format(
      "to train it in micro-batches, exactly: --on-cross-batch split (micro-batch {}, {} of {}, {} a "
      "step)",
      search.plan->cut.m, formatBytes(bytes), formatBytes(search.budget),
      planner::formatSeconds(search.plan->seconds()));
}

std::optional<planner::Error> misfitOfSplit(const planner::Problem &problem, int64_t batch) {
  int main = problem.mainPhase();
  auto isWhole = [&](int phase) {
    return phase + 1 == main && problem.phases[phase].kind == planner::PhaseKind::Once;
  };
  std::set<int64_t> readers, layers; // what reads a temperature or a bias is none
  for (const planner::Parameter &parameter : problem.parameters)
    if (parameter.after >= 0) {
      readers.insert(parameter.readers.begin(), parameter.readers.end());
      if (parameter.bytes > kScalarBytes)
        layers.insert(parameter.readers.begin(), parameter.readers.end());
    }
  double before = 0, after = 0;
  for (const planner::Command &command : problem.commands) {
    if (!readers.contains(command.id))
      continue;
    int phase = problem.timedIn(command);
    const planner::Amount &flops = command.variants.front().flops;
    double whole = double(flops.fixed) + double(flops.perSample) * double(batch);
    if (isWhole(phase))
      after += layers.contains(command.id) ? whole : 0;
    else if (problem.phases[phase].kind == planner::PhaseKind::Main)
      before += whole;
  }
  if (after <= before)
    return std::nullopt;
  return planner::Error{
      fmt::format(
          "samples meet too early to split the batch: {:.0f} % of the arithmetic of trained layers comes "
          "after they meet, where the whole batch of {} is computed at once",
          100 * after / (before + after), batch),
      "cross-batch",
      {"batch norm: export after model.eval() (statistics frozen, scale and bias still train), or use "
       "GroupNorm",
       "--on-cross-batch disable computes all of it on the whole batch"}};
}

} // namespace accum::driver
