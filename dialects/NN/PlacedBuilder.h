// SPDX-License-Identifier: Apache-2.0
// A builder whose nn ops get placed types by themselves: derivatives are written without a word about
// placements.
#pragma once

#include "dialects/NN/NNDialect.h"

namespace accum::nn {

/// Placements of the results of `op` for those of its operands: its own rule, and in front of all rules the
/// one that makes everything whole that is made from something whole. Failure fills `why`.
llvm::LogicalResult inferPlacements(PlacementOpInterface op, llvm::ArrayRef<Placement> operands,
                                    llvm::SmallVectorImpl<Placement> &results, Refusal &why);

/// Infers the placements of an op's results from those of its operands and sets them as encodings. Where the
/// operands leave a choice (the batch axis of a reshape, a broadcast to the batch, a zero as a partial), the
/// encoding that the result's type has already decides. Failure: `why`, and the types are as they were.
llvm::LogicalResult placeResults(mlir::Operation *op, Refusal &why);

/// Places nn ops when they are inserted. An op that has no placement is a bug of whoever builds it: an error
/// without a slug is emitted at the op, and failed() is true from then on.
class PlacementListener : public mlir::OpBuilder::Listener {
public:
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint previous) override;
  bool failed() const { return anyFailed; }

private:
  bool anyFailed = false;
};

/// An OpBuilder with a PlacementListener of its own.
class PlacedBuilder : public mlir::OpBuilder {
public:
  explicit PlacedBuilder(mlir::MLIRContext *context) : OpBuilder(context) { setListener(&placements); }
  PlacedBuilder(const PlacedBuilder &) = delete;
  bool failed() const { return placements.failed(); }

private:
  PlacementListener placements;
};

} // namespace accum::nn
