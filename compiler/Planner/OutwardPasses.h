// SPDX-License-Identifier: Apache-2.0
// Packings outward in time, to go on from.
#pragma once
#include "compiler/Planner/Packing.h"

namespace accum::planner {

/// The lowest of several packings outward in time (OutwardFit.h) below heights little above `enough`, the
/// largest load or more. What they take is taken from `visits`. Its height is INT64_MAX where one takes much
/// more than its part of that.
Packing outwardPasses(std::span<const Rectangle> rectangles, int64_t enough, const PackingEffort &effort,
                      int64_t &visits);

} // namespace accum::planner
