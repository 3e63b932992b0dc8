// SPDX-License-Identifier: Apache-2.0
// Flags, optimizer and devices -> ways.
#include "compiler/Driver/StateWays.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Report/ExplainText.h"
#include "runtime/artifact/Optimizers.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accum::driver {

/// Predictions are no more exact than that.
static constexpr double kTie = 0.01;

static bool takesMeans(const std::string &name) {
  const runtime::OptimizerSpec *optimizer = runtime::findOptimizer(name);
  return optimizer && optimizer->rule == runtime::UpdateRule::Adafactor;
}

/// The state as units of parameters needs an update of any part of a unit.
std::optional<planner::Error> checkUnits(const Options &options) {
  const runtime::OptimizerSpec *optimizer = runtime::findOptimizer(options.optimizer);
  auto refuse = [&](const char *flag, const std::string &value, const char *why) {
    return planner::Error{fmt::format("{} {}: {} {}", flag, value, options.optimizer, why),
                          "usage",
                          {fmt::format("{} none, or another --optimizer", flag)}};
  };
  for (auto [flag, value] : {std::pair("--shard", options.shard), {"--offload", options.offload}})
    if (value != "none" && value != "auto" && takesMeans(options.optimizer))
      return refuse(flag, value, "takes means over whole tensors, of which a unit has parts");
  if (options.offload == "optimizer" && optimizer && optimizer->slots.empty())
    return refuse("--offload", options.offload, "keeps no state");
  return std::nullopt;
}

std::vector<Way> waysOf(const planner::DeviceProfile &profile, const Options &options) {
  const runtime::OptimizerSpec *optimizer = runtime::findOptimizer(options.optimizer);
  bool hasUnits = !takesMeans(options.optimizer);
  std::vector<std::string> shards = {options.shard}, offloads = {options.offload};
  if (options.shard == "auto")
    shards = hasUnits && options.devices > 1 ? std::vector<std::string>{"none", "zero1", "zero2", "zero3"}
                                             : std::vector<std::string>{"none"};
  if (options.offload == "auto")
    offloads = hasUnits && profile.offloadBandwidth() > 0
                   ? std::vector<std::string>{"none", "optimizer", "parameters"}
                   : std::vector<std::string>{"none"};
  std::vector<Way> ways;
  for (const std::string &offload : offloads)
    for (const std::string &shard : shards) {
      bool isPossible = offload == "optimizer"    ? optimizer && !optimizer->slots.empty()
                        : offload == "parameters" ? options.devices == 1 || shard == "zero3"
                                                  : true;
      if (isPossible)
        ways.push_back({shard, offload});
    }
  return ways;
}

TriedWay triedWay(const Way &way, const planner::Search &search) {
  if (search.plan)
    return {way, true, false, search.plan->total(), 0, search.plan->seconds()};
  const planner::Candidate &least = search.candidates[search.smallest];
  return {way, false, false, least.counted, least.over, 0};
}

std::optional<size_t> bestWay(const std::vector<TriedWay> &tried) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const TriedWay &each : tried)
    if (each.fits)
      fastest = std::min(fastest, each.seconds);
  for (size_t index = 0; index < tried.size(); ++index)
    if (tried[index].fits && tried[index].seconds <= fastest * (1 + kTie))
      return index;
  return std::nullopt;
}

size_t leastWay(const std::vector<TriedWay> &tried) {
  auto needsLess = [](const TriedWay &a, const TriedWay &b) { return a.bytes < b.bytes; };
  return size_t(llvm::min_element(tried, needsLess) - tried.begin());
}

std::string nameOf(const Way &way) {
  std::string name = way.shard == "none" ? "not sharded" : way.shard;
  if (way.offload == "none")
    return name;
  return fmt::format("{}, {} offloaded", name,
                     way.offload == "optimizer" ? "optimizer state" : "parameters too");
}

std::string describeWays(const std::vector<TriedWay> &tried) {
  auto chosen = llvm::find_if(tried, [](const TriedWay &each) { return each.chosen; });
  if (chosen == tried.end() || tried.size() < 2)
    return {};
  std::vector<std::string> phrases = {nameOf(chosen->way) + " as planned"};
  for (const TriedWay &each : tried)
    if (!each.fits)
      phrases.push_back(
          fmt::format("{} does not fit ({} over)", nameOf(each.way), planner::formatBytes(each.over)));
    else if (!each.chosen)
      phrases.push_back(fmt::format("{} takes {} and {:+.1f} %", nameOf(each.way),
                                    planner::formatBytes(each.bytes),
                                    100 * (each.seconds / chosen->seconds - 1)));
  return planner::wrapped("ways", phrases);
}

} // namespace accum::driver
