// SPDX-License-Identifier: Apache-2.0
// The time to copy the samples of a step from the process's memory to where commands read them.
#pragma once
#include "compiler/Planner/Problem/Plan.h"
#include "compiler/Planner/Time/TimeModel.h"
#include <optional>

namespace accum::planner {

/// Of the buffers of kind `inputs`, K times. On the host one thread copies rows before each micro-step. To a
/// card they go over its link while the micro-step before runs, the first ones after nothing, and then within
/// the card from where they arrive to where commands read them. `micro`: seconds of a micro-step. Nothing
/// where the problem has no such buffers. The few bytes that the pre-pass reads are not counted.
std::optional<TimeLine> feedTime(const Problem &problem, const DeviceProfile &profile, const TimeModel &times,
                                 const Cut &cut, double micro);

} // namespace accum::planner
