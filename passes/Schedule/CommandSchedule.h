// SPDX-License-Identifier: Apache-2.0
// Commands become launches and library calls on buffers.
#pragma once

#include "passes/Schedule/Contributions.h"
#include "passes/Schedule/ProgramBuffers.h"

namespace accum {

/// Writes device ops at a builder's position. Results lie where the plan says, accumulated ones in their
/// targets, stored ones where `buffers` has them already.
class CommandSchedule {
public:
  CommandSchedule(train::PlanAttr plan, ProgramBuffers &buffers, mlir::OpBuilder &builder)
      : plan(plan), buffers(buffers), builder(builder) {}

  /// `contributions` of the loop body that the command stands in; null outside of loops.
  mlir::LogicalResult run(train::CommandOp command, const Contributions *contributions);
  /// `done` gets each command behind its ops; of those that run in slices together only the last.
  mlir::LogicalResult runAll(mlir::Block &body, const Contributions *contributions,
                             llvm::function_ref<void(train::CommandOp)> done = {});
  /// Where a value that `user` reads lies, and its buffer there.
  mlir::FailureOr<Place> placeOf(mlir::Operation *user, mlir::Value value);
  mlir::FailureOr<mlir::Value> bufferOf(mlir::Operation *user, mlir::Value value);

private:
  /// One of the slices in which neighbouring commands run.
  struct Slice {
    int64_t sample = 0, piece = 0; ///< where it begins
    int64_t pieces = 1;
    bool isRest = false; ///< shorter than those before

    bool isFirst() const { return sample == 0 && piece == 0; }
  };

  /// The kernel of a command in a slice.
  mlir::FlatSymbolRefAttr kernelOf(train::CommandOp command) const;
  /// `place`, from where the current slice of operand (or result, behind the operands) `index` begins.
  Place sliced(train::CommandOp command, Place place, size_t index) const;
  mlir::LogicalResult runSlices(mlir::MutableArrayRef<train::CommandOp> group,
                                const Contributions *contributions);
  mlir::LogicalResult placeResults(train::CommandOp command, const Contributions *contributions);
  mlir::LogicalResult runGemm(train::CommandOp command, device::Update update, mlir::ValueRange inputs,
                              mlir::Value output);
  mlir::LogicalResult runAttention(train::CommandOp command, mlir::ValueRange buffers);
  mlir::LogicalResult runKernel(train::CommandOp command, std::optional<device::Update> update,
                                mlir::ValueRange arguments);

  train::PlanAttr plan;
  ProgramBuffers &buffers;
  mlir::OpBuilder &builder;
  std::optional<Slice> slice;
};

} // namespace accum
