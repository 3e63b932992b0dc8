// SPDX-License-Identifier: Apache-2.0
// `--micro-batch explore[:MIN..MAX]`: the sizes that look best are compiled and timed on this machine.
#pragma once

#include "compiler/Driver/Options.h"
#include "compiler/Planner/Search/Solve.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace accum::driver {

/// What `explore` leaves to compare: its range, or `auto`; nothing for another value of --micro-batch.
std::optional<std::string> exploredRange(const std::string &microBatch);

/// Compiles with these options, and hands out the search; prints errors only where they are quiet. An exit
/// code.
using CompileOnce = llvm::function_ref<int(const Options &, planner::Search *)>;

/// Plans, compiles the best few sizes in a temporary folder, runs steps of them in turns (ExploreRounds.h)
/// with accum-run on synthetic data, and compiles the fastest for good. Slugs `usage` where programs for the
/// target do not run here, `run-failed`.
int explore(const Options &options, CompileOnce compile);

} // namespace accum::driver
