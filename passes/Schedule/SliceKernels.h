// SPDX-License-Identifier: Apache-2.0
// Commands that run in slices get kernels for one slice.
#pragma once

#include "dialects/Train/TrainDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace accum {

/// On a kernel: samples of the slice that it is for; the rows that it has of a sample's rows.
inline constexpr llvm::StringLiteral kSamples = "accum.samples", kSomeOfRows = "accum.rows";
/// How much of the batch the types of a piece of IR are for.
struct Share {
  int64_t samples = 1;
  int64_t part = 0, rows = 0; ///< where it is a part of one sample: so many of its rows
};

/// `type` with that many samples (or rows of one), without its placement.
mlir::RankedTensorType bound(mlir::Type type, const Share &share);

train::SliceAttr withRest(train::SliceAttr slice, mlir::FlatSymbolRefAttr kernel);

/// Null where all slices are equal.
mlir::FlatSymbolRefAttr restKernel(train::CommandOp command);

/// Where the plan has slices for a step's group: sets `slice`, still with slab types, and notes
/// the share of the values that are held in slices.
void sliceKernels(train::StepOp step, train::PlanAttr plan, llvm::DenseMap<mlir::Value, Share> &slices);

} // namespace accum
