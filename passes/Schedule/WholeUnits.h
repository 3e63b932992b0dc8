// SPDX-License-Identifier: Apache-2.0
// Units of a sharded or offloaded state are whole while their tensors are updated, one by one.
#pragma once

#include "passes/Schedule/UnitTransfers.h"

namespace accum {

/// Writes device ops at a builder's position, between the ops of an update that stand unit by unit. Summed
/// gradients come from all devices, and so do parameters of which a device has its part, or that are
/// offloaded; each device updates the whole unit, and keeps its part of those parameters.
class WholeUnits {
public:
  WholeUnits(const StateLayout &layout, ProgramBuffers &buffers, OffloadMoves &offload,
             UnitTransfers &transfers, mlir::OpBuilder &builder);

  /// Gives units their places. Fails, with a diagnostic at `step`, where the plan has not so much room.
  mlir::LogicalResult place(train::StepOp step);
  /// Before an op of the update: the unit of its tensor is there, and the next one may begin to come.
  void enter(mlir::Operation &op);
  /// Behind the last op of a unit: what a device keeps of it is where it stays.
  void leave(mlir::Location loc);

private:
  void bring(size_t unit, bool start, mlir::Location loc);

  const StateLayout &layout;
  ProgramBuffers &buffers;
  OffloadMoves &offload;
  UnitTransfers &transfers;
  mlir::OpBuilder &builder;
  planner::UnitSchedule parameters, gradients; ///< a span for each unit, in places for such
  std::optional<size_t> current;
};

} // namespace accum
