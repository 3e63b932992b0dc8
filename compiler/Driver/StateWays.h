// SPDX-License-Identifier: Apache-2.0
// Which ways there are to hold the state of a step: --shard and --offload.
#pragma once
#include "compiler/Driver/Options.h"
#include "compiler/Planner/Problem/Result.h"
#include "compiler/Planner/Search/Solve.h"
#include "compiler/Planner/Time/DeviceProfile.h"
#include <optional>

namespace accum::driver {

/// Words of --shard and --offload.
struct Way {
  std::string shard = "none", offload = "none";
};

/// Why the flags do not go together, or with the optimizer; nothing where they do.
std::optional<planner::Error> checkUnits(const Options &options);

/// What `auto` leaves, in the order of what it costs: sums over devices, then a slow memory.
std::vector<Way> waysOf(const planner::DeviceProfile &profile, const Options &options);

/// `zero3, optimizer state offloaded`.
std::string nameOf(const Way &way);

/// The best plan of a way, or what its least one needs.
struct TriedWay {
  Way way;
  bool fits = false, chosen = false;
  int64_t bytes = 0; ///< of a device: of the plan, or of the least one
  int64_t over = 0;  ///< by which that is too much
  double seconds = 0;
};

TriedWay triedWay(const Way &way, const planner::Search &search);

/// The fastest of those that fit; ways that differ by less than the prediction's error are as fast, and the
/// first of them is taken. Nothing where none fits.
std::optional<size_t> bestWay(const std::vector<TriedWay> &tried);

/// The one that needs least memory, of at least one.
size_t leastWay(const std::vector<TriedWay> &tried);

/// `ways     zero1 as planned; not sharded does not fit (1.1 GiB over); zero2 takes 1.2 GiB and +3.0 %`.
std::string describeWays(const std::vector<TriedWay> &tried);

} // namespace accum::driver
