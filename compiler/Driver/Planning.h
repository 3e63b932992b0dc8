// SPDX-License-Identifier: Apache-2.0
// From a fused module to a plan: the problem with its fixed memory, the search, the independent check.
#pragma once

#include "compiler/Driver/Diagnostics.h"
#include "compiler/Driver/Options.h"
#include "compiler/Planner/Solve.h"
#include "mlir/IR/BuiltinOps.h"

namespace accum::driver {

/// Searches, verifies and writes the module's `train.plan`. Failure: reported to `diagnostics`. The search is
/// filled in either case, as far as it came.
mlir::LogicalResult planModule(mlir::ModuleOp module, const Options &options, Diagnostics &diagnostics,
                               planner::Search &search);

} // namespace accum::driver
