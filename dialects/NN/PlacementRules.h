// SPDX-License-Identifier: Apache-2.0
// What the placement rules of all kinds of ops share. Rules live in Placement<Kind>.cpp, one function an op.
#pragma once

#include "dialects/NN/NNDialect.h"
#include "llvm/ADT/Twine.h"

namespace accum::nn::rule {

using Placements = llvm::ArrayRef<Placement>;
using Results = llvm::SmallVectorImpl<Placement>;

llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);
int64_t rankOf(mlir::Value value);
/// Samples' rows in one block: the slab's extent on the batch axis is outer * rows.
int64_t rowsOf(mlir::Value value, Placement placement);

/// Fills `why`; always failure.
llvm::LogicalResult refuse(Refusal &why, Refusal::Kind kind, const llvm::Twine &sentence,
                           llvm::ArrayRef<unsigned> operands = {});

/// The shape of the whole value, N being the batch size: "[N, 4, 8]", "[24N, 32]".
std::string wholeShape(mlir::Value value, Placement placement);

/// The placement that a result's type asks for: its own, batched where it has one batch extent, else
/// Unplaced.
Placement declared(mlir::Value result);

/// All results replicated, if all operands are.
bool allReplicated(Placements operands);
bool anyBatched(Placements operands);
llvm::SmallVector<unsigned, 2> partialsOf(Placements operands);

/// A constant zero, also when it is reshaped, broadcast, transposed or cast: a term that may be added to any
/// sum.
bool isZero(mlir::Value value);

/// Rules for partial operands of an op that is linear in each operand of `linear` while the others are fixed.
/// True: the results are settled; false: no operand is partial.
llvm::FailureOr<bool> settlePartials(mlir::Operation *op, Placements operands,
                                     llvm::ArrayRef<unsigned> linear, Results &results, Refusal &why);

/// The same for an op that is linear in all operands of `terms` together (concat, add), and not in the
/// others.
llvm::FailureOr<bool> settleSum(mlir::Operation *op, Placements operands, llvm::ArrayRef<unsigned> terms,
                                Results &results, Refusal &why);

/// Two batched operands have their samples in the same order on the same axis, given in axes of their own.
bool sameLayout(mlir::Value a, Placement pa, mlir::Value b, Placement pb);

} // namespace accum::nn::rule
