// SPDX-License-Identifier: Apache-2.0
// The phases of a step of commands become ops of the program.
#pragma once

#include "dialects/Train/Phases.h"
#include "dialects/Train/SplitBatch.h"
#include "passes/Schedule/CommandSchedule.h"
#include "passes/Schedule/OffloadMoves.h"
#include "passes/Schedule/UnitTransfers.h"
#include "passes/Schedule/WholeUnits.h"

namespace accum {

/// What the steps of one region of the program have in common: one for each length, or a single one.
struct ProgramRegion {
  ProgramRegion(mlir::Block *top, const StateLayout &layout)
      : layout(layout), builder(mlir::OpBuilder::atBlockEnd(top)), buffers(layout, top),
        offload(layout, buffers, builder) {}

  const StateLayout &layout;
  mlir::OpBuilder builder;
  ProgramBuffers buffers;
  OffloadMoves offload;
};

/// Writes phases of one step at the end of a region.
class StepSchedule {
public:
  StepSchedule(train::StepOp step, train::PlanAttr plan, ProgramRegion &region)
      : step(step), plan(plan), layout(region.layout), builder(region.builder), buffers(region.buffers),
        offload(region.offload), commands(plan, buffers, builder),
        transfers(step, layout, buffers, offload, builder),
        wholeUnits(layout, buffers, offload, transfers, builder), kept(train::keptForward(step)) {}

  train::StepOp getStep() const { return step; }
  void section(llvm::StringRef title) { device::SectionOp::create(builder, step.getLoc(), title); }
  /// A loop over micro-batches; `number` is its row in the program's list of phases. `finishLoop` comes after
  /// the loops of all lengths.
  mlir::LogicalResult buildLoop(train::PhaseOp phase, size_t number);
  void finishLoop(train::PhaseOp phase);
  /// What runs once, the update or another one.
  mlir::LogicalResult buildOnce(train::PhaseOp phase);
  /// It runs in the first micro-step of the main loop.
  bool runsInLoop(train::PhaseOp phase) const { return kept && kept->whole == phase; }

private:
  mlir::LogicalResult buildCommands(train::PhaseOp phase);
  mlir::LogicalResult buildUpdate(train::PhaseOp phase);
  void reduceScalars(train::PhaseOp phase, llvm::function_ref<bool(mlir::Attribute)> isDone = {});
  mlir::LogicalResult verifyPlaces(const UnitMoves &moves);
  void reduceGradients();
  void gatherParameters(size_t unit, bool start);
  /// Devices update parts of parameters that all of them have.
  bool gathersUpdated() const {
    return layout.isSharded() && !layout.hasPartsOf("parameter") && !layout.updatesWholeUnits();
  }

  Place placeOfInput(mlir::BlockArgument input);
  mlir::FailureOr<Place> placeOfResult(mlir::OpResult result);
  /// But for what `later` leaves.
  mlir::LogicalResult placeCaptures(train::PhaseOp phase, train::PhaseOp later = {});
  bool isTerm(mlir::Attribute target) const { return kept && kept->isTerm(target); }
  void clearTerms();
  mlir::LogicalResult verifyTerms();
  /// What runs once on the whole batch, on the way through the first micro-step.
  mlir::LogicalResult runWhole(const UnitMoves &moves);
  void handOut(train::PhaseOp phase, train::CommandOp command);
  mlir::LogicalResult runLoop(train::PhaseOp phase, size_t number);

  train::StepOp step;
  train::PlanAttr plan;
  const StateLayout &layout;
  mlir::OpBuilder &builder;
  ProgramBuffers &buffers;
  OffloadMoves &offload;
  CommandSchedule commands;
  UnitTransfers transfers;
  WholeUnits wholeUnits;
  std::optional<train::KeptForward> kept;
};

} // namespace accum
