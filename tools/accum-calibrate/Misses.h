// SPDX-License-Identifier: Apache-2.0
// From which size on weights do not stay in a cache between their uses.
#pragma once
#include "compiler/Planner/Time/TimeTables.h"

namespace accum::calibrate {

/// Of a call's seconds with weights that take turns in so many bytes (ascending, at least two of both): the
/// first is the time near, the last the time far. Ascending whatever the noise; no points where both are
/// nearly the same, so that there is nothing to tell apart.
planner::MissCurve missCurve(const std::vector<int64_t> &bytes, const std::vector<double> &seconds);

} // namespace accum::calibrate
