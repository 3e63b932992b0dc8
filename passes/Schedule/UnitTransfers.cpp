// SPDX-License-Identifier: Apache-2.0
// Units that come and go -> device.fetch, device.all_gather, device.reduce_scatter.
#include "passes/Schedule/UnitTransfers.h"

using namespace mlir;

namespace accum {

bool UnitTransfers::bringsAny(train::CommandOp command, const UnitMoves &moves) {
  return !moves.gatheredBefore(command).empty() || !moves.sentBefore(command).empty() ||
         !moves.readBefore(command).empty();
}

/// Units of parameters that `command` is the first to need come from all devices, or from where they are
/// offloaded; and others begin to come.
void UnitTransfers::bringParameters(train::CommandOp command, const UnitMoves &moves) {
  for (const planner::UnitSpan &span : moves.gatheredBefore(command)) {
    if (!layout.isSharded() || span.sent == span.first)
      fetchOwn(span, /*start=*/false, command.getLoc());
    gatherUnit(span, /*start=*/false, command.getLoc());
    buffers.noteGathered(span);
  }
  for (const planner::UnitSpan &span : moves.sentBefore(command)) {
    fetchOwn(span, /*start=*/false, command.getLoc());
    gatherUnit(span, /*start=*/true, command.getLoc());
  }
  for (const planner::UnitSpan &span : moves.readBefore(command))
    fetchOwn(span, /*start=*/true, command.getLoc());
}

/// A device's part of an offloaded unit comes to its place in that.
void UnitTransfers::fetchOwn(const planner::UnitSpan &span, bool start, Location loc) {
  if (isOffloaded(span))
    offload.fetchParameters(span.unit, buffers.ownGathered(span), start, loc);
}

void UnitTransfers::gatherUnit(const planner::UnitSpan &span, bool start, Location loc) {
  Place own = isOffloaded(span) ? buffers.ownGathered(span) : buffers.gatheredFrom(span);
  if (layout.isSharded())
    device::AllGatherOp::create(builder, loc, buffers.at(own, builder, loc),
                                buffers.at(buffers.gathered(span), builder, loc), start);
}

/// What lies between gradients is sent with them: it is zero.
void UnitTransfers::makeRoom(train::CommandOp command, const UnitMoves &moves,
                             const Contributions &contributions) {
  for (const planner::UnitSpan &span : moves.addedFrom(command)) {
    buffers.noteScattered(span);
    for (const Place &gap : buffers.gapsOf(span, contributions))
      device::ZeroOp::create(builder, command.getLoc(), buffers.at(gap, builder, command.getLoc()),
                             /*if_first=*/false);
  }
}

/// Units of gradients that have all their terms of this micro-step are summed and scattered, beside the
/// commands that follow where there is room.
void UnitTransfers::scatterGradients(train::CommandOp command, const UnitMoves &moves) {
  for (const planner::UnitSpan &span : moves.sentBehind(command))
    addScattered(span, command.getLoc());
  for (const planner::UnitSpan &span : moves.finalBehind(command))
    if (span.last < span.end)
      device::ReduceScatterOp::create(builder, command.getLoc(),
                                      buffers.at(buffers.scattered(span), builder, command.getLoc()),
                                      /*start=*/true, /*if_last=*/false);
    else
      addScattered(span, command.getLoc());
}

/// Each device adds its part of the sum to what it has.
void UnitTransfers::addScattered(const planner::UnitSpan &span, Location loc) {
  device::ReduceScatterOp::create(builder, loc, buffers.at(buffers.scattered(span), builder, loc),
                                  /*start=*/false, /*if_last=*/false);
  for (auto adder : step.getUpdate().getBlock().getOps<train::CommandOp>()) {
    if (adder.getAddsUnit() != span.unit)
      continue;
    auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(step, adder.getKernelAttr());
    SmallVector<Value> arguments = {buffers.at(buffers.ownScattered(span), builder, loc),
                                    buffers.at(buffers.part("gradient", span.unit), builder, loc)};
    device::LaunchOp::create(builder, loc, adder.getIdAttr(), adder.getKernelAttr(),
                             kernel->getAttrOfType<IntegerAttr>("accum.kernel"), arguments,
                             device::UpdateAttr::get(builder.getContext(), device::Update::accumulate));
  }
}

} // namespace accum
