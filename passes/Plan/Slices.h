// SPDX-License-Identifier: Apache-2.0
// Commands that may run in slices of samples (`sliced`, by accum-group-loss), and the variants that say so.
#pragma once

#include "compiler/Planner/Problem/Problem.h"
#include "dialects/Train/TrainDialect.h"

namespace accum {

/// Whether the command is one of those that run in slices together.
bool isSliced(train::CommandOp command);
/// Whether only a slice of this value is held at a time: a sliced result, or a view of one.
bool isHeldInSlices(mlir::Value value);
/// The commands of a block that run in slices, one behind the other; none where nothing does.
llvm::SmallVector<train::CommandOp> slicedCommands(mlir::Block &block);

/// `samples` samples, or one of `pieces` parts of one.
struct SliceSize {
  int64_t samples = 0, pieces = 1;
  /// Rows of a piece, where a sample has so many; the last piece has what is left.
  int64_t rowsOfPiece(int64_t rows) const { return (rows + pieces - 1) / pieces; }
  bool isWhole(int64_t m) const { return samples == 0 || (pieces == 1 && samples >= m); }
  /// `slices4`, `pieces8`: the variant of that name.
  std::string name() const;
};

/// What is offered for the group of `leader`: powers of 4 samples, of at most 16384 rows of logits or one
/// sample, and pieces of a sample, of at most 1024 rows or a quarter of it.
llvm::SmallVector<SliceSize> sliceSizes(train::CommandOp leader);
/// Rows of a sample, where its group may run in pieces of one; else 0.
int64_t rowsToCut(train::CommandOp leader);
/// What the plan chose for a block's group; whole where it runs at once.
SliceSize plannedSlice(train::PlanAttr plan, llvm::ArrayRef<train::CommandOp> group);

/// Offers the variants in the problem of a step. `indices`: the group's commands in it. What such a command
/// reads from or leaves to others is there while any of them runs.
void addSliceVariants(llvm::ArrayRef<train::CommandOp> group, llvm::ArrayRef<int> indices,
                      planner::Problem &problem);

} // namespace accum
