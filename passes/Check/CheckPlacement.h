// SPDX-License-Identifier: Apache-2.0
// The phase `check` for callers that want to know what it found.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "passes/Check/Verdict.h"

namespace accum {

/// What accum-check-placement does, on a module with a @forward. Failure: `verdict.causes` says why, and an
/// error was emitted for each.
llvm::LogicalResult checkPlacement(mlir::ModuleOp module, Verdict &verdict);

} // namespace accum
