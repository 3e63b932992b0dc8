// SPDX-License-Identifier: Apache-2.0
// Commands that may run in slices of samples (`sliced`, by accum-group-loss), and the variants that say so.
#pragma once

#include "compiler/Planner/Problem.h"
#include "dialects/Train/TrainDialect.h"

namespace accum {

/// Whether the command is one of those that run in slices together.
bool isSliced(train::CommandOp command);
/// Whether only a slice of this value is held at a time: a sliced result, or a view of one.
bool isHeldInSlices(mlir::Value value);
/// The commands of a block that run in slices, one behind the other; none where nothing does.
llvm::SmallVector<train::CommandOp> slicedCommands(mlir::Block &block);

/// Samples per slice that are offered for the group of `leader`: powers of 4, of at most 16384 rows of logits
/// or of one sample.
llvm::SmallVector<int64_t> sliceSizes(train::CommandOp leader);
/// `slices4`: the variant with slices of 4 samples.
std::string sliceVariant(int64_t samples);
/// Samples per slice that the plan chose for a block's group; 0 for one slice.
int64_t plannedSlice(train::PlanAttr plan, llvm::ArrayRef<train::CommandOp> group);

/// Offers the variants in the problem of a step. `indices`: the group's commands in it. What such a command
/// reads from or leaves to others is there while any of them runs.
void addSliceVariants(llvm::ArrayRef<train::CommandOp> group, llvm::ArrayRef<int> indices,
                      planner::Problem &problem);

} // namespace accum
