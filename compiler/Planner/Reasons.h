// SPDX-License-Identifier: Apache-2.0
// What a plan does, in words.
#pragma once
#include "compiler/Planner/Recompute.h"
#include "compiler/Planner/TimeModel.h"

namespace accum::planner {

/// `24 of 148 commands (attention, gelu)`: of the micro-step, with the kinds that take the most time again;
/// empty where nothing runs again.
std::string describeRecomputation(const Problem &problem, const TimeModel &times, const Choice &choice);

} // namespace accum::planner
