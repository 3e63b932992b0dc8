// SPDX-License-Identifier: Apache-2.0
// What a micro-step waits for units of a sharded or offloaded state.
#pragma once
#include "compiler/Planner/Sharing/Gathering.h"
#include <functional>

namespace accum::planner {

/// Seconds of one kind of transfer in a micro-step, and of them what the commands wait for.
struct Traffic {
  double seconds = 0, exposed = 0;
  bool operator==(const Traffic &) const = default;
};

struct UnitTraffic {
  Traffic gathering, scattering, fetching;

  double exposed() const { return gathering.exposed + scattering.exposed + fetching.exposed; }
};

/// What transfers take, in seconds of so many bytes of a unit; nothing for what there is none of.
struct UnitRates {
  std::function<double(int64_t)> pass;  ///< around the ring
  std::function<double(int64_t)> fetch; ///< a device's part, from where it is offloaded
  bool gathers = false, scatters = false;
};

/// As the program does it: passes one after the other, those that are needed at once behind those under way.
/// `seconds`: of the commands of each position. What is offloaded is fetched, and then gathered. That
/// transfers and commands share a device's cores is not counted: a host's ranks wait for each other more than
/// that, and of cards nobody has measured it.
UnitTraffic unitTraffic(const UnitTimeline &timeline, const std::vector<double> &seconds,
                        const UnitRates &rates);

} // namespace accum::planner
