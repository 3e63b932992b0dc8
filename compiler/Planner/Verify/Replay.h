// SPDX-License-Identifier: Apache-2.0
// For the checker: the commands that a plan runs, recomputed on demand. Shares nothing with the search.
#pragma once
#include "compiler/Planner/Problem/Plan.h"
#include "compiler/Planner/Problem/Problem.h"

namespace accum::planner {

/// Slug `invalid-plan`.
Error invalid(std::string message);

/// What runs: before each backward command, whatever it reads, directly or through others, of the commands
/// that run again and did not yet, in their order; every command in the plan's variant. Slug `invalid-plan`
/// where a command that runs again has an effect besides its results, reads or writes what another one
/// changes, or is needed by nothing; where a variant is unknown, or is not that of the command it follows.
/// Holds what memory follows from, and neither costs nor names for people.
Result<Problem> replay(const Problem &problem, const Plan &plan);

} // namespace accum::planner
