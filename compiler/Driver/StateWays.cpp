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

/// Why its state cannot wait elsewhere, if it cannot.
static const char *whyOnDevice(const std::string &optimizer) {
  const runtime::OptimizerSpec *spec = runtime::findOptimizer(optimizer);
  if (spec && spec->slots.empty())
    return "keeps no state";
  return spec && spec->isByTensor() ? "keeps rows and columns only, which stay on the device" : nullptr;
}

std::optional<planner::Error> checkUnits(const Options &options) {
  const char *why = whyOnDevice(options.optimizer);
  if (options.offload != "optimizer" || !why)
    return std::nullopt;
  return planner::Error{fmt::format("--offload optimizer: {} {}", options.optimizer, why),
                        "usage",
                        {"--offload none or parameters, or another --optimizer"}};
}

std::vector<Way> waysOf(const planner::DeviceProfile &profile, const Options &options) {
  const runtime::OptimizerSpec *optimizer = runtime::findOptimizer(options.optimizer);
  std::vector<std::string> shards = {options.shard}, offloads = {options.offload};
  if (options.shard == "auto")
    shards = options.devices > 1 ? std::vector<std::string>{"none", "zero1", "zero2", "zero3"}
                                 : std::vector<std::string>{"none"};
  if (options.shard == "auto" && optimizer && optimizer->isByTensor())
    std::erase(shards, "zero1"); // which holds what `none` holds
  if (options.offload == "auto")
    offloads = profile.offloadBandwidth() > 0 ? std::vector<std::string>{"none", "optimizer", "parameters"}
                                              : std::vector<std::string>{"none"};
  std::vector<Way> ways;
  for (const std::string &offload : offloads)
    for (const std::string &shard : shards) {
      bool isPossible = offload == "optimizer"    ? !whyOnDevice(options.optimizer)
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
