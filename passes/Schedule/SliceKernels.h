// SPDX-License-Identifier: Apache-2.0
// Commands that run in slices get kernels for one slice.
#pragma once

#include "dialects/Train/TrainDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace accum {

/// On a kernel: samples of the slice that it is for.
inline constexpr llvm::StringLiteral kSamples = "accum.samples";
/// On a command: samples of a slice; the kernel of the last slice, where that one is shorter; for each
/// operand, then each result, the bytes of a sample, by which a slice begins further behind, or 0 where all
/// slices see the same.
inline constexpr llvm::StringLiteral kSlice = "slice", kRest = "rest", kStrides = "strides";

/// Null where all slices are equal.
mlir::FlatSymbolRefAttr restKernel(train::CommandOp command);

/// Where the plan has slices for a step's group: sets the attributes above, still with slab types, and notes
/// the samples of the values that are held in slices.
void sliceKernels(train::StepOp step, train::PlanAttr plan, llvm::DenseMap<mlir::Value, int64_t> &slices);

} // namespace accum
