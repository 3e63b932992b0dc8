// SPDX-License-Identifier: Apache-2.0
// Where in a region of commands units of a sharded state come and go.
#pragma once

#include "compiler/Planner/Sharing/Gathering.h"
#include "passes/Schedule/Contributions.h"
#include "passes/Schedule/StateLayout.h"

namespace accum {

/// Spans of parameters that are gathered, where devices have parts of them, and of gradients that are
/// scattered, where each micro-step does that. Commands that run in slices together are one position.
class UnitMoves {
public:
  /// Of commands in the order in which they run. `contributions`: of a loop over micro-steps, else null.
  UnitMoves(llvm::ArrayRef<train::CommandOp> commands, const Contributions *contributions,
            const StateLayout &layout);

  /// Units that are there before this command, and, ahead of the command that needs them, those that devices
  /// send there and those that they read from where they are offloaded.
  llvm::SmallVector<planner::UnitSpan> gatheredBefore(train::CommandOp command) const;
  llvm::SmallVector<planner::UnitSpan> sentBefore(train::CommandOp command) const;
  llvm::SmallVector<planner::UnitSpan> readBefore(train::CommandOp command) const;
  /// Units whose gradients have room from before this command on; have all their terms behind it; were sent
  /// beside the commands up to it, since they had all their terms.
  llvm::SmallVector<planner::UnitSpan> addedFrom(train::CommandOp command) const;
  llvm::SmallVector<planner::UnitSpan> finalBehind(train::CommandOp command) const;
  llvm::SmallVector<planner::UnitSpan> sentBehind(train::CommandOp command) const;

  int64_t gatheredBytes() const { return gathers.bytes; }
  int64_t scatteredBytes() const { return scatters.bytes; }

private:
  using CommandSet = llvm::DenseSet<mlir::Operation *>;
  using Moment = size_t planner::UnitSpan::*;
  /// Spans whose moment is the command's position, where the command is one of these ends of it.
  llvm::SmallVector<planner::UnitSpan> spansAt(train::CommandOp command, const CommandSet &ends,
                                               const planner::UnitSchedule &schedule, Moment moment) const;

  llvm::DenseMap<mlir::Operation *, size_t> positions;
  CommandSet firsts, lasts; ///< of their positions
  planner::UnitSchedule gathers, scatters;
  bool sends; ///< there are several devices
};

} // namespace accum
