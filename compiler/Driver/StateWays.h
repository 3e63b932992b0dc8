// SPDX-License-Identifier: Apache-2.0
// Which ways there are to hold the state of a step: --shard and --offload.
#pragma once
#include "compiler/Driver/Options.h"
#include "compiler/Planner/Problem/Result.h"
#include "compiler/Planner/Time/DeviceProfile.h"
#include <optional>

namespace accum::driver {

/// Words of --shard and --offload.
struct Way {
  std::string shard = "none", offload = "none";
};

/// Programs have it; others are planned only.
bool isBuilt(const Way &way, const Options &options);

/// Why the flags do not go together, or with the optimizer; nothing where they do.
std::optional<planner::Error> checkUnits(const Options &options);

/// What `auto` leaves, in the order of what it costs: sums over devices, then a slow memory.
std::vector<Way> waysOf(const planner::DeviceProfile &profile, const Options &options);

} // namespace accum::driver
