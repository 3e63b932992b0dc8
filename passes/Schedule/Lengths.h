// SPDX-License-Identifier: Apache-2.0
// Steps of one model at several sizes of a dimension, in one program.
#pragma once

#include "dialects/Train/TrainDialect.h"

namespace accum {

/// On a module that holds steps of several lengths: a dictionary for each, ascending, with
/// `sizes` (of each dimension that has several), `m`, and `seconds` that a micro-step is predicted to take.
inline constexpr llvm::StringLiteral kLengths = "accum.lengths";

struct SizedStep {
  train::StepOp step;
  train::PlanAttr plan;
};

/// The steps of `name` (`step` or `eval`), by ascending length; a single one where the module has one length.
/// `plan`: of the largest.
mlir::SmallVector<SizedStep> stepsByLength(mlir::ModuleOp module, llvm::StringRef name, train::PlanAttr plan);

/// Takes the steps and kernels of the other sizes into the module of the largest one, which is the last.
/// All have their micro-batch bound. State and scratch are then those of all. Fails where the sizes do not
/// have the same parameters, phases and totals.
mlir::LogicalResult joinLengths(mlir::ArrayRef<mlir::ModuleOp> sizes);

} // namespace accum
