// SPDX-License-Identifier: Apache-2.0
// The independent checker of plans: it knows Problem and Plan, and shares no code with the search.
#pragma once
#include "compiler/Planner/Problem/Plan.h"
#include "compiler/Planner/Problem/Problem.h"

namespace accum::planner {

/// Whether the plan is right for a problem that passed `check`: every buffer has a place, aligned and inside
/// the scratch; no two that live at the same time overlap, except views and permitted in-place results; the
/// memory lines add up and stay within the budget; m and K cover the batch. Slug `invalid-plan`, naming the
/// buffers.
Status verify(const Problem &problem, const Plan &plan);

} // namespace accum::planner
