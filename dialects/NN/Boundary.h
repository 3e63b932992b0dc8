// SPDX-License-Identifier: Apache-2.0
// Where a graph that relates samples passes from micro-batches to the whole batch, and back.
#pragma once
#include "dialects/NN/NNDialect.h"

namespace accum::nn {

/// On a reshape, a unit attribute: what is the same everywhere becomes #nn.whole, or the other way round.
/// What is computed from something whole is whole; only such a reshape ends that.
inline constexpr llvm::StringLiteral boundaryAttr = "nn.boundary";

inline bool isBoundary(mlir::Operation *op) { return op->hasAttr(boundaryAttr); }

/// `value` on the other side, as `type`.
mlir::Value atBoundary(mlir::OpBuilder &builder, mlir::Value value, mlir::RankedTensorType type);

/// On an iota along the batch axis, a unit attribute: it numbers the samples of the micro-step, from 0.
inline constexpr llvm::StringLiteral numbersSamplesAttr = "nn.numbers_samples";

/// On a total, a unit attribute: it is the sum of a loop of its own, after which samples meet, and has a
/// derivative.
inline constexpr llvm::StringLiteral cutAttr = "nn.cut";

/// On an op, a unit attribute: what an equal op has computed is computed again, since nobody kept it.
inline constexpr llvm::StringLiteral againAttr = "nn.again";

/// On a sum, a unit attribute: it adds to what was summed before, by itself, so that its terms are not all
/// kept until the last.
inline constexpr llvm::StringLiteral runningSumAttr = "nn.running_sum";

inline bool isCut(mlir::Operation *op) { return mlir::isa<TotalOp>(op) && op->hasAttr(cutAttr); }

} // namespace accum::nn
