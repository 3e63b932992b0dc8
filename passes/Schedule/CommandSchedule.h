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
  /// `begin` gets each command before its ops, `done` behind them; of those that run in slices together only
  /// the first, or the last.
  mlir::LogicalResult runAll(mlir::Block &body, const Contributions *contributions,
                             llvm::function_ref<void(train::CommandOp)> begin = {},
                             llvm::function_ref<void(train::CommandOp)> done = {});
  /// Where a value that `user` reads lies, and its buffer there.
  mlir::FailureOr<Place> placeOf(mlir::Operation *user, mlir::Value value);
  mlir::FailureOr<mlir::Value> bufferOf(mlir::Operation *user, mlir::Value value);

private:
  /// The slices in which neighbouring commands run: rounds of the loops around the builder, or the one
  /// behind.
  struct Slices {
    int64_t samples = 1;
    int64_t part = 0, rows = 0;                   ///< of pieces of a sample: theirs, and all
    bool overSamples = false, overPieces = false; ///< whether such a loop is around it
    /// The first sample, or row, of the last slice or piece, which is shorter than those before.
    std::optional<int64_t> rest = std::nullopt;
  };

  /// The kernel of a command in a slice.
  mlir::FlatSymbolRefAttr kernelOf(train::CommandOp command) const;
  /// `place`, from where the current slice of operand (or result, behind the operands) `index` begins.
  Place sliced(train::CommandOp command, Place place, size_t index) const;
  mlir::LogicalResult runSlices(mlir::ArrayRef<train::CommandOp> group, const Contributions *contributions);
  /// One slice of samples after the other.
  mlir::LogicalResult overSamples(llvm::function_ref<mlir::LogicalResult()> body);
  /// A slice, or the pieces of its sample one after the other.
  mlir::LogicalResult overPieces(llvm::function_ref<mlir::LogicalResult()> body);
  /// Writes a loop, and whatever `body` writes into it.
  mlir::LogicalResult loop(int64_t count, llvm::StringRef name, const llvm::Twine &title,
                           llvm::function_ref<mlir::LogicalResult()> body);
  mlir::LogicalResult placeResults(train::CommandOp command, const Contributions *contributions);
  /// The command itself, its results having their places.
  mlir::LogicalResult call(train::CommandOp command, const Contributions *contributions);
  mlir::LogicalResult runGemm(train::CommandOp command, device::Update update, mlir::ValueRange inputs,
                              mlir::Value output);
  mlir::LogicalResult runAttention(train::CommandOp command, mlir::ValueRange buffers);
  mlir::LogicalResult runKernel(train::CommandOp command, std::optional<device::Update> update,
                                mlir::ValueRange arguments);

  train::PlanAttr plan;
  ProgramBuffers &buffers;
  mlir::OpBuilder &builder;
  std::optional<Slices> slices;
  mutable mlir::SymbolTableCollection symbols; // all kernels are there before a program is written
};

} // namespace accum
