// SPDX-License-Identifier: Apache-2.0
// What a module records of a graph that is split where samples meet.
#pragma once
#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"
#include <optional>
#include <string>

namespace accum::train {

/// The global batch of a program that computes micro-batches up to where samples meet and the rest once, on
/// exactly so many samples; nothing where samples are not related.
std::optional<int64_t> splitBatchOf(mlir::Operation *module);
void recordSplitBatch(mlir::Operation *module, int64_t batch);

/// Whether the module is such a graph at one of several sizes of a dimension, which are compiled into one
/// program: samples are then told by their positions in the batch, since each size has some of them, and what
/// is computed once on the whole batch is computed for all sizes.
bool isOneOfSplitSizes(mlir::Operation *module);
void recordOneOfSplitSizes(mlir::Operation *module);

/// On a loop, a unit attribute: it goes on from the derivative that an earlier phase has found. The loss
/// tells nothing of its forward part, only where its ops come from does.
inline constexpr llvm::StringLiteral kGoesOn = "train.goes_on";

/// On a phase that runs once, a string: its results lie in the state, as scalars of this name and their
/// number, where the steps of all sizes find them.
inline constexpr llvm::StringLiteral kLeavesInState = "train.leaves_in_state";

/// The name of what such a phase leaves as a result; empty for results of others. A value that is left twice
/// has one name.
std::string nameInState(PhaseOp phase, size_t result);

/// On a loop, a unit attribute: it runs all micro-steps but the first, whose terms the loop that goes on from
/// it adds to the same sums, before it goes on. What the first micro-step computes on the way is kept.
inline constexpr llvm::StringLiteral kRest = "train.rest";

/// The phases of a step whose first micro-step has no second forward part.
struct KeptForward {
  PhaseOp encode, whole, micro;

  /// The first command of the micro-step that reads what the whole batch left. What runs once on that stands
  /// before it, after all terms of the sums; null where nothing does.
  CommandOp resumes() const;
  /// Whether the value is added to a sum of `encode`.
  bool isTerm(mlir::Attribute target) const;
  /// Whether a command of the micro-step does nothing else: it runs in the first one only.
  bool addsOnlyTerms(CommandOp command) const;
};
std::optional<KeptForward> keptForward(StepOp step);

/// Whether a phase runs once on the whole batch, where its samples meet. Requires: placements.
bool relatesSamples(PhaseOp phase);

/// Of such a loop's ops, or commands, those of its forward part: no derivative made them, or what they read.
llvm::SetVector<mlir::Operation *> forwardByOrigin(mlir::Block &block);

/// The function that computes the loss from what @forward returns, until the check appends it to that.
inline constexpr llvm::StringLiteral kWholeFunction = "whole";

} // namespace accum::train
