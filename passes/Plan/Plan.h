// SPDX-License-Identifier: Apache-2.0
// Between the IR of a step and the planner: a step becomes a Problem, a Plan becomes an attribute.
#pragma once

#include "compiler/Planner/Problem/Plan.h"
#include "compiler/Planner/Problem/Problem.h"
#include "dialects/Train/TrainDialect.h"

namespace accum {

/// The planning problem of one step: its commands in order, and a buffer `id:result` for every command result
/// that needs one. Results that are added to accumulators or stored into the state need none, views share
/// their storage. The caller adds what is fixed (state, inputs, libraries).
planner::Problem buildProblem(train::StepOp step);

/// The trained parameter that a command casts to half the bytes once per step, in the same layout, for later
/// phases and nobody else; null for other commands. Where a device has its part of the parameters, it
/// has its part of such copies, too.
mlir::FlatSymbolRefAttr copiedParameter(train::CommandOp command, mlir::SymbolTableCollection &symbols);

/// The slot of a command's result in a plan: `17:0`.
std::string slotName(mlir::OpResult result);

/// Bytes that staging the step's inputs takes per device, in m: each input has one buffer of m samples.
planner::Amount inputBytes(train::StepOp step);

/// `shard` of train.plan; null where nothing is sharded.
mlir::DictionaryAttr shardAttr(mlir::MLIRContext *context, const planner::Problem &problem,
                               const planner::Plan &plan);

/// Writes the plan of @step, whose problem this is, and the scratch slots of the module's other steps at the
/// same m, as the module's `train.plan`.
void applyPlan(mlir::ModuleOp module, const planner::Problem &problem, const planner::Plan &step,
               llvm::ArrayRef<planner::Plan> others);

} // namespace accum
