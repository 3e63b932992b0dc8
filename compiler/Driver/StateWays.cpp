// SPDX-License-Identifier: Apache-2.0
// Flags, optimizer and devices -> ways.
#include "compiler/Driver/StateWays.h"
#include "runtime/artifact/Optimizers.h"
#include <fmt/format.h>

namespace accum::driver {

/// bf16 has copies of weights, which no program fetches from elsewhere.
bool isBuilt(const Way &way, const Options &options) {
  return options.precision != "bf16" || way.offload != "parameters";
}

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
      if (isPossible && isBuilt({shard, offload}, options))
        ways.push_back({shard, offload});
    }
  return ways;
}

} // namespace accum::driver
