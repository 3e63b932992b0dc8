// SPDX-License-Identifier: Apache-2.0
// Everything a candidate takes, line by line: fixed memory, the scratch by kind at its peak, what the device
// keeps.
#pragma once
#include "compiler/Planner/Problem/Options.h"
#include "compiler/Planner/Search/PeakMoment.h"
#include "compiler/Planner/Time/DeviceProfile.h"

namespace accum::planner {

/// Bytes of an overhead on one of `devices` devices, at micro-batches of m.
int64_t bytesOf(const Overhead &overhead, const Problem &problem, int64_t devices, int64_t m);

/// State lines sum to the state, Scratch lines to `candidate.scratch`, all but Context to what the budget is
/// compared with. `problem` is the one that was asked for, `fixed` what a device holds of it.
std::vector<MemoryLine> memoryLines(const Problem &problem, const std::vector<FixedMemory> &fixed,
                                    const DeviceProfile &profile, int64_t devices, const Candidate &candidate,
                                    const PeakMoment &peak);

/// Memory that the user gives, --memory. Of a card it is all that it holds, what was gone before us included,
/// as its driver would say; elsewhere it is the budget.
void limitMemory(int64_t bytes, DeviceProfile &profile, Options &options);

} // namespace accum::planner
