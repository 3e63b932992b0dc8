// SPDX-License-Identifier: Apache-2.0
// Units of a sharded or offloaded state come to the commands that need them, and their gradients go.
#pragma once

#include "passes/Schedule/OffloadMoves.h"
#include "passes/Schedule/UnitMoves.h"

namespace accum {

/// Writes device ops at a builder's position, before and behind each command of a region.
class UnitTransfers {
public:
  UnitTransfers(train::StepOp step, const StateLayout &layout, ProgramBuffers &buffers, OffloadMoves &offload,
                mlir::OpBuilder &builder)
      : step(step), layout(layout), buffers(buffers), offload(offload), builder(builder) {}

  // --- before a command ---
  static bool bringsAny(train::CommandOp command, const UnitMoves &moves);
  void bringParameters(train::CommandOp command, const UnitMoves &moves);
  void makeRoom(train::CommandOp command, const UnitMoves &moves, const Contributions &contributions);
  // --- behind it ---
  void scatterGradients(train::CommandOp command, const UnitMoves &moves);

  /// A device's part of an offloaded unit is in the place of a span, or begins to come there.
  void fetchOwn(const planner::UnitSpan &span, bool start, mlir::Location loc);
  /// A unit of parameters is whole in the place of a span, or begins to come there from all devices.
  void gatherUnit(const planner::UnitSpan &span, bool start, mlir::Location loc);

private:
  bool isOffloaded(const planner::UnitSpan &span) const { // copies never are
    return offload.hasParameters() && !layout.gatheredUnit(span.unit).second;
  }
  void addScattered(const planner::UnitSpan &span, mlir::Location loc);

  train::StepOp step;
  const StateLayout &layout;
  ProgramBuffers &buffers;
  OffloadMoves &offload;
  mlir::OpBuilder &builder;
};

} // namespace accum
