// SPDX-License-Identifier: Apache-2.0
// One form of a module before the planner: attention in tiles is one, attention as products another.
#pragma once
#include "compiler/Driver/Options.h"
#include "compiler/Driver/StateWays.h"
#include "compiler/Planner/Search/Alternatives.h"
#include "mlir/IR/BuiltinOps.h"

namespace accum::driver {

/// What the planner is asked about one form of a module, what it found out, and what it says.
struct Form {
  planner::Problem problem;
  planner::AlternativeCache known = {};
  planner::Result<planner::Search> search = planner::Search{};
  std::vector<TriedWay> ways = {};

  /// Of the plan; nothing is slower than no plan.
  double seconds() const {
    return search && search->plan ? search->plan->seconds() : std::numeric_limits<double>::infinity();
  }
};

/// The problem of a fused module.
mlir::FailureOr<Form> problemOf(mlir::ModuleOp module, const Options &options);

/// Fills in the search. As little offload as fits, and with that the fastest way to shard. Where nothing
/// fits, the way that needs least.
void search(Form &form, const planner::DeviceProfile &profile, planner::Options asked,
            const Options &options);

} // namespace accum::driver
