// SPDX-License-Identifier: Apache-2.0
// One form of a module before the planner: attention in tiles is one, attention as products another.
#pragma once
#include "compiler/Driver/Options.h"
#include "compiler/Planner/Search/Alternatives.h"
#include "compiler/Planner/Search/Solve.h"
#include "mlir/IR/BuiltinOps.h"
#include <limits>

namespace accum::driver {

/// What the planner is asked about one form of a module, what it found out, and what it says.
struct Form {
  planner::Problem problem;
  planner::AlternativeCache known = {};
  planner::Result<planner::Search> search = planner::Search{};

  /// Of the plan; nothing is slower than no plan.
  double seconds() const {
    return search && search->plan ? search->plan->seconds() : std::numeric_limits<double>::infinity();
  }
};

/// The problem of a fused module.
mlir::FailureOr<Form> problemOf(mlir::ModuleOp module, const Options &options);

/// Fills in the search, or takes the plan of `--plan FILE`.
void search(Form &form, const planner::DeviceProfile &profile, planner::Options asked,
            const Options &options);

} // namespace accum::driver
