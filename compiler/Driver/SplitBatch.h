// SPDX-License-Identifier: Apache-2.0
// `--on-cross-batch split`: micro-batches up to where samples meet, the rest once on the whole batch.
#pragma once

#include "compiler/Driver/Options.h"
#include "compiler/Planner/Search/Solve.h"
#include <functional>

namespace accum::driver {

/// What a check of a graph comes to.
struct Checked {
  bool relatesSamples = false; ///< it does not pass, and nothing else is wrong
  std::vector<std::string> errors;
  std::vector<std::string> nodes; ///< that relate samples, as the check names them
};
using Check = std::function<Checked(const Options &)>;
/// The search of a compilation that ends with its plan.
using Plan = std::function<planner::Search(const Options &)>;

/// The options of the compilation that `split` stands for: the same where the graph relates no samples, or
/// something else is wrong with it; otherwise those that say where it is split. Nothing, and an error [usage]
/// or [not-built] was said, where these options leave no such compilation.
std::optional<Options> settleSplit(const Options &options, const Check &check);

/// The note below a refusal: what a split would take. Empty where there is none, or it does not fit.
std::string splitNote(const Options &options, const Check &check, const Plan &plan);

/// Why a step is not worth its split: most of its trained layers are computed on the whole batch at once.
std::optional<planner::Error> misfitOfSplit(const planner::Problem &problem, int64_t batch);

} // namespace accum::driver
