// SPDX-License-Identifier: Apache-2.0
// What a plan does, and why another point of the search is slower, in words.
#pragma once
#include "compiler/Planner/Search/SearchSpace.h"

namespace accum::planner {

/// `24 of 148 commands (attention, gelu)`: with the kinds that take the most time again; empty where there
/// are none.
std::string describeRecomputation(const Problem &problem, const TimeModel &times, const Choice &choice);

/// `loss in slices of 4 samples`; empty where no slice is smaller than m.
std::string describeSlices(const Problem &problem, const Choice &choice, int64_t m);

/// `not sharded, 1 all-reduce per step`. `runs`: the problem of the plan, with its memory for units.
std::string describeSharing(const Sharing &sharing, int64_t devices, const Problem &runs,
                            const UnitRoom &room);

/// `2 padded rows, one more micro-step`; `samples`: the device batch.
std::string whySlower(const SearchSpace &points, int point, int chosen, int64_t samples);

} // namespace accum::planner
