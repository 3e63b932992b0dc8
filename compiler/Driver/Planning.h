// SPDX-License-Identifier: Apache-2.0
// From a fused module to a plan: the problem with its fixed memory, the search, the independent check.
#pragma once

#include "compiler/Driver/Diagnostics.h"
#include "compiler/Driver/Options.h"
#include "compiler/Report/BudgetAnswers.h"
#include "compiler/Report/Page.h"
#include "mlir/IR/BuiltinOps.h"

namespace accum::driver {

struct Planning {
  planner::Search search = {};
  std::string attention = {}; ///< which form won, and what the other would have taken; empty: there was one
  planner::BudgetAnswers budgets = {}; ///< where --explain or --json asks for them
  std::string page = {};               ///< with --report
};

/// Searches, verifies and writes the module's `train.plan`, and with `--report` the page (of one of several
/// sizes, only into the planning). Failure: reported
/// to `messages`. The planning is filled in either case, as far as it came; so is the page.
/// Where the module holds another form and that has the faster plan, or the only one that fits, the module
/// becomes it.
mlir::LogicalResult planModule(mlir::ModuleOp module, const Options &options,
                               const planner::report::PageFacts &facts, Messages &messages,
                               Planning &planning);

/// Writes it to the file of `--report`. Failure: reported to `messages`.
mlir::LogicalResult writePage(const Options &options, const std::string &page, Messages &messages);

} // namespace accum::driver
