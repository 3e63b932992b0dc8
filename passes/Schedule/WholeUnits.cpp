// SPDX-License-Identifier: Apache-2.0
// Units one after the other -> device.all_gather, device.fetch; device.copy, device.store.
#include "passes/Schedule/WholeUnits.h"
#include "dialects/Train/OneParameter.h"

using namespace mlir;

namespace accum {

WholeUnits::WholeUnits(const StateLayout &layout, ProgramBuffers &buffers, OffloadMoves &offload,
                       UnitTransfers &transfers, OpBuilder &builder)
    : layout(layout), buffers(buffers), offload(offload), transfers(transfers), builder(builder) {
  if (!layout.updatesWholeUnits())
    return;
  std::vector<int64_t> bytes;
  for (const StateLayout::Unit &unit : layout.units)
    bytes.push_back(static_cast<int64_t>(unit.bytes));
  parameters = planner::updateUnits(bytes, layout.gatheredBytes);
  // Where devices have room for all gradients, those that come are in their own places.
  bool havePlaces = !layout.hasPartsOf("gradient");
  gradients = planner::updateUnits(bytes, havePlaces ? planner::kAnyRoom : layout.scatteredBytes);
}

LogicalResult WholeUnits::place(train::StepOp step) {
  bool cutsParameters = layout.hasPartsOf("parameter"), cutsGradients = layout.hasPartsOf("gradient");
  if ((cutsParameters && parameters.bytes > layout.gatheredBytes) ||
      (cutsGradients && gradients.bytes > layout.scatteredBytes))
    return step.emitError("the plan has ")
           << layout.gatheredBytes << " and " << layout.scatteredBytes
           << " bytes for units of parameters and gradients, whose update takes " << parameters.bytes
           << " and " << gradients.bytes;
  for (const planner::UnitSpan &span : parameters.spans)
    if (cutsParameters)
      buffers.noteGathered(span);
  for (const planner::UnitSpan &span : gradients.spans)
    if (cutsGradients)
      buffers.noteScattered(span);
  return success();
}

/// `start`: if it has a place before the unit is needed.
void WholeUnits::bring(size_t unit, bool start, Location loc) {
  auto comes = [&](const planner::UnitSpan &span) { return !start || span.begin < span.first; };
  const planner::UnitSpan &gradient = gradients.spans[unit], &parameter = parameters.spans[unit];
  if (layout.isSharded() && comes(gradient)) {
    Place all = layout.hasPartsOf("gradient") ? buffers.scattered(gradient) : buffers.whole("gradient", unit);
    device::AllGatherOp::create(builder, loc, buffers.at(buffers.part("gradient", unit), builder, loc),
                                buffers.at(all, builder, loc), start);
  }
  if (!layout.hasPartsOf("parameter") || !comes(parameter))
    return;
  transfers.fetchOwn(parameter, start, loc);
  if (!start || !offload.hasParameters()) // what is read ahead is sent when it is needed
    transfers.gatherUnit(parameter, start, loc);
}

void WholeUnits::enter(Operation &op) {
  FlatSymbolRefAttr of = train::oneParameterOf(&op);
  auto unit = of ? layout.unitOf(of.getValue()) : std::nullopt;
  if (!unit || unit == current)
    return;
  leave(op.getLoc());
  current = unit;
  bring(*unit, /*start=*/false, op.getLoc());
  if (*unit + 1 < layout.units.size())
    bring(*unit + 1, /*start=*/true, op.getLoc());
}

void WholeUnits::leave(Location loc) {
  if (!current || !layout.hasPartsOf("parameter"))
    return;
  Place own = buffers.ownGathered(parameters.spans[*current]);
  if (offload.hasParameters())
    offload.storeParameters(*current, own, loc);
  else
    device::CopyOp::create(builder, loc, buffers.at(own, builder, loc),
                           buffers.at(buffers.part("parameter", *current), builder, loc));
}

} // namespace accum
