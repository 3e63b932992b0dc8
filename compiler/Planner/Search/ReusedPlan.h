// SPDX-License-Identifier: Apache-2.0
// A plan from a file in place of a search.
#pragma once
#include "compiler/Planner/Search/Solve.h"

namespace accum::planner {

/// What a search that found `plan` would say. The plan must be for this problem, device and options and pass
/// `verify`; otherwise one sentence says what differs, slug `other-plan`. The budget is that of the options,
/// or the profile's; times and memory are those of the profile, whatever the file says.
Result<Search> reusePlan(const Problem &problem, const DeviceProfile &profile, const Options &options,
                         const Plan &plan);

} // namespace accum::planner
