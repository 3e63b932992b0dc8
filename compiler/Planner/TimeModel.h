// SPDX-License-Identifier: Apache-2.0
// Predicted seconds of a step: per command the slower of arithmetic and memory traffic, and a launch.
#pragma once
#include "compiler/Planner/DeviceProfile.h"
#include "compiler/Planner/Options.h"
#include "compiler/Planner/Plan.h"
#include "compiler/Planner/Problem.h"
#include "compiler/Planner/Sharing.h"
#include <array>
#include <vector>

namespace accum::planner {

/// Seconds of one pass over a region's commands.
struct RegionTime {
  double total = 0;
  double launch = 0; ///< the part that is launches
  double memory = 0; ///< the part in commands that wait for memory
  double again = 0;  ///< the part in commands that run a second time
};

class TimeModel {
public:
  TimeModel(const Problem &problem, const DeviceProfile &profile, int64_t devices);

  /// One run of a command at m, in its first variant.
  RegionTime command(size_t index, int64_t m) const {
    const Command &which = problem.commands[index];
    return which.tail && which.cloneOf < 0 ? RegionTime() : time(index, 0, m);
  }
  /// Its seconds by itself, in another variant.
  double seconds(int command, int variant, int64_t m) const;
  /// One iteration of each region at m, commands in their first variant.
  std::array<RegionTime, 4> regions(int64_t m) const;
  /// Named parts of a whole step; they sum to its time.
  std::vector<TimeLine> step(const Cut &cut, const Sharing &sharing = {}) const;
  /// Matrix flops of `samples` samples over what the device peaks at in `seconds`; 0 where there are none.
  double utilisation(int64_t samples, double seconds) const;

private:
  RegionTime atOnce(size_t index, const Variant &way, int64_t samples, int64_t pieces) const;
  RegionTime time(size_t index, size_t variant, int64_t m) const;

  struct Rated {
    double flopsPerSecond;
    bool matrix;
    double peak;
  };

  const Problem &problem;
  const DeviceProfile &profile;
  int64_t devices;
  double share;             ///< of the machine's rates that one device has
  std::vector<Rated> rates; ///< per command
};

} // namespace accum::planner
