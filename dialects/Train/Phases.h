// SPDX-License-Identifier: Apache-2.0
// Changes to a step's list of phases, and what one phase sees of another.
#pragma once

#include "dialects/Train/TrainDialect.h"

namespace accum::train {

/// The same phase with results of other types: result i takes the place of the old result `sources[i]`, and
/// is new where that is -1. The old op is gone.
PhaseOp withResults(PhaseOp phase, mlir::TypeRange types, llvm::ArrayRef<int64_t> sources);

/// Yields `value`, of the body of a phase that runs once; returns the phase's result for it. The old op is
/// gone.
mlir::Value keep(PhaseOp once, mlir::Value value);

/// Keeps a result no longer, which has no uses. The old op is gone.
PhaseOp forget(PhaseOp once, mlir::Value result);

/// What an earlier phase has computed once, where `value` is an argument that brings it; null for all others.
mlir::Value keptValue(mlir::Value value);

void dropUnusedCaptures(StepOp step);

/// The last phase before `phase` that runs once, updates nothing and leaves nothing in the state; where there
/// is none, a new one right before it.
PhaseOp onceBefore(PhaseOp phase);

/// Of an argument of the step.
llvm::StringRef inputName(mlir::BlockArgument input);
/// `rng`, `hyper`, `valid` or `first_row` where the compiler made the input; empty for the model's own ones,
/// which may have these names too.
llvm::StringRef madeInput(mlir::BlockArgument input);
/// Whether it is one of the model's inputs, which a run brings for each micro-step: not `rng` and `hyper`.
bool isStaged(mlir::BlockArgument input);

} // namespace accum::train
