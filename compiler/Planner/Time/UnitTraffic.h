// SPDX-License-Identifier: Apache-2.0
// How long a micro-step waits for units of a sharded or offloaded state.
#pragma once
#include "compiler/Planner/Sharing/Gathering.h"
#include <functional>

namespace accum::planner {

/// Seconds of one kind of transfer in a micro-step, and of them those that commands wait for.
struct Traffic {
  double seconds = 0, exposed = 0;
  bool operator==(const Traffic &) const = default;
};

struct UnitTraffic {
  Traffic gathering, scattering, fetching;

  double exposed() const { return gathering.exposed + scattering.exposed + fetching.exposed; }
};

/// Seconds of a transfer as a function of the unit's bytes; empty for a kind that does not occur.
struct UnitRates {
  std::function<double(int64_t)> pass;  ///< a collective around the ring
  std::function<double(int64_t)> fetch; ///< a device reads its part from where it is offloaded
  bool gathers = false, scatters = false;
};

/// Simulates a micro-step as the program runs it. `seconds` are those of the commands at each position.
/// Collectives run one after the other: one that is needed at once runs after those in flight. An offloaded
/// part is read before its all-gather. It is not counted that transfers take cores from the commands: ranks
/// of a host wait for each other more than that, and for GPUs it has not been measured.
UnitTraffic unitTraffic(const UnitTimeline &timeline, const std::vector<double> &seconds,
                        const UnitRates &rates);

} // namespace accum::planner
