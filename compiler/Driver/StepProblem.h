// SPDX-License-Identifier: Apache-2.0
// What the planner is told about a step beside its commands.
#pragma once

#include "compiler/Planner/Problem/Problem.h"
#include "dialects/Train/TrainDialect.h"
#include "passes/Schedule/StateLayout.h"
#include "runtime/artifact/Manifest.h"
#include "llvm/ADT/StringSet.h"

namespace accum::driver {

/// Frozen parameters that devices may have in parts: matrices that few commands of the micro-steps read, and
/// only those and what runs once.
llvm::StringSet<> frozenInParts(mlir::ModuleOp module);

/// Of a batch that is split where samples meet: the bytes of the state that hold what enters there.
int64_t rowBytes(mlir::ModuleOp module, const StateLayout &layout);

/// The state by lines; what rounds offsets up counts as bookkeeping. `rows`: see rowBytes.
void addStateLines(const runtime::Manifest &manifest, const llvm::StringSet<> &inParts, int64_t rows,
                   planner::Problem &problem);

/// In the order of the state, with what each takes there; also those that no command contributes to. Frozen
/// ones `inParts` beside them.
void orderParameters(const runtime::Manifest &manifest, const llvm::StringSet<> &inParts,
                     planner::Problem &problem);

/// Says of each parameter what the commands of a module's steps read of it, in the problems of all, whose
/// parameters are the same.
void noteReadAs(std::vector<planner::Problem> &steps);

/// Samples are sequences where the first input has a second axis: its extent; else 0.
int64_t tokensPerSample(train::StepOp step);

} // namespace accum::driver
