// SPDX-License-Identifier: Apache-2.0
// Which command is the first to touch an accumulator, and which ones add to it.
#pragma once

#include "dialects/Device/DeviceDialect.h"
#include "dialects/Train/TrainDialect.h"

namespace accum {

/// The yields of a loop body, seen from its commands. The first command of the first micro-step that
/// contributes to a target writes, everything else adds. A command has one flag for all its results: where
/// one result would write and another one add, the targets to be written are set to zero before and all
/// results add.
class Contributions {
public:
  /// Fails, with a diagnostic, where a yielded value is not an accumulating result of a command, an
  /// accumulating result is not yielded exactly once, or two of one command have the same target.
  /// `scatters`: each micro-step sends its gradients away, so that what is first in it writes.
  /// `isBegun`: of a target, that it holds terms before the first micro-step; all commands add to it.
  static mlir::FailureOr<Contributions> of(mlir::Block &body, bool scatters = false,
                                           llvm::function_ref<bool(mlir::Attribute)> isBegun = {});

  /// Null where the result is a buffer of its own.
  mlir::Attribute target(mlir::OpResult result) const { return targets.lookup(result); }
  /// Nothing for commands that accumulate nothing.
  std::optional<device::Update> update(train::CommandOp command) const;
  /// Results whose targets are set to zero before the command, in the first micro-step, or in each one
  /// (`isZeroedEach`).
  llvm::SmallVector<mlir::OpResult> zeroed(train::CommandOp command) const;
  bool isZeroedEach(mlir::OpResult result) const { return scatters && isGradient(result); }
  /// Whether any command adds to the gradient of that parameter.
  bool hasTarget(llvm::StringRef parameter) const;

private:
  bool isMixed(train::CommandOp command) const;
  bool isGradient(mlir::OpResult result) const;
  /// Of a step that scatters: what such a command writes in each micro-step it has one flag for.
  bool writesEach(train::CommandOp command) const;

  llvm::DenseMap<mlir::OpResult, mlir::Attribute> targets;
  llvm::DenseSet<mlir::OpResult> first;
  bool scatters = false;
};

} // namespace accum
