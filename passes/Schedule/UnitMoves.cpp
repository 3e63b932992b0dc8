// SPDX-License-Identifier: Apache-2.0
// Commands and operands, in the planner's numbers.
#include "passes/Schedule/UnitMoves.h"
#include "compiler/Planner/Sharing/Units.h"
#include "dialects/NN/Views.h"
#include "dialects/Train/OneParameter.h"
#include "passes/Schedule/SliceKernels.h"

using namespace mlir;

namespace accum {
namespace {

void addOnce(std::vector<size_t> &units, size_t unit) {
  if (!llvm::is_contained(units, unit))
    units.push_back(unit);
}

/// What a command reads of a sharded state, by the planner's number.
std::optional<size_t> unitRead(Value input, const StateLayout &layout) {
  Operation *op = nn::behindViews(input).getDefiningOp();
  if (auto load = dyn_cast_or_null<train::LoadParamOp>(op))
    return layout.gatheredWith(load.getParam());
  auto load = dyn_cast_or_null<train::LoadSlotOp>(op);
  if (!load || load.getSlot() != train::kCopySlot)
    return std::nullopt;
  return layout.numberOfCopy(*layout.unitOf(train::oneParameterOf(load).getValue()));
}

/// Bytes of units, and which are small, from `bytes` of all that could be in them.
planner::GatheredUnits sizesOf(ArrayRef<StateLayout::Unit> units, std::vector<int64_t> bytes) {
  planner::GatheredUnits sizes;
  std::vector<int64_t> counts;
  int64_t members = 0;
  for (const StateLayout::Unit &unit : units) {
    counts.push_back(static_cast<int64_t>(unit.count));
    members += counts.back();
    sizes.bytes.push_back(static_cast<int64_t>(unit.bytes));
  }
  bytes.resize(static_cast<size_t>(members));
  sizes.stays = planner::smallUnits(bytes, counts);
  return sizes;
}

planner::GatheredUnits gatheredUnits(const StateLayout &layout) {
  std::vector<int64_t> trained, frozen;
  for (const runtime::ParameterSpec &spec : layout.manifest.params)
    (spec.trained ? trained : frozen)
        .push_back(static_cast<int64_t>(
            llvm::alignTo(spec.bytes(), static_cast<uint64_t>(device::kStateAlignment))));
  planner::GatheredUnits units = sizesOf(layout.units, trained);
  return planner::gatheredUnits(units.bytes, units.stays, layout.copied, sizesOf(layout.frozen, frozen));
}

} // namespace

UnitMoves::UnitMoves(ArrayRef<train::CommandOp> commands, const Contributions *contributions,
                     const StateLayout &layout)
    : sends(layout.isSharded()) {
  std::vector<std::vector<size_t>> reads, adds;
  Operation *before = nullptr;
  bool inSlices = false;
  for (train::CommandOp command : commands) {
    if (command.getCopiesUnit()) // of its own part
      continue;
    bool sliced = command.getSlice().has_value();
    if (!sliced || !inSlices || !before) {
      if (before)
        lasts.insert(before);
      firsts.insert(command);
      reads.emplace_back();
      adds.emplace_back();
    }
    inSlices = sliced;
    before = command;
    positions[command] = reads.size() - 1;
    for (Value input : command.getInputs())
      if (auto unit = unitRead(input, layout))
        addOnce(reads.back(), *unit);
    if (!contributions)
      continue;
    for (OpResult result : command->getResults())
      if (auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(contributions->target(result)))
        if (auto unit = layout.unitOf(symbol.getValue()))
          addOnce(adds.back(), *unit);
  }
  if (before)
    lasts.insert(before);
  for (auto *uses : {&reads, &adds}) // in the planner's order, so that places are the same
    for (std::vector<size_t> &units : *uses)
      llvm::sort(units);
  planner::GatheredUnits units = gatheredUnits(layout);
  std::vector<char> offloaded;
  if (sends && llvm::is_contained(layout.offloadedSlots(), "parameter"))
    offloaded = planner::allButCopies(units.bytes.size(), layout.units.size(), layout.copied);
  if (layout.hasPartsOf("parameter"))
    gathers = planner::gatherUnits(reads, units.bytes, units.stays, layout.gatheredBytes, offloaded);
  if (layout.hasPartsOf("gradient"))
    scatters = planner::scatterUnits(adds, units.bytes, layout.scatteredBytes);
}

using Spans = SmallVector<planner::UnitSpan>;

Spans UnitMoves::spansAt(train::CommandOp command, const CommandSet &ends,
                         const planner::UnitSchedule &schedule, Moment moment) const {
  if (!ends.contains(command))
    return {};
  return llvm::filter_to_vector(schedule.spans, [&](const planner::UnitSpan &span) {
    return span.*moment == positions.lookup(command);
  });
}

Spans UnitMoves::gatheredBefore(train::CommandOp command) const {
  return spansAt(command, firsts, gathers, &planner::UnitSpan::first);
}

Spans UnitMoves::sentBefore(train::CommandOp command) const {
  Spans spans = spansAt(command, firsts, gathers, &planner::UnitSpan::sent);
  llvm::erase_if(spans, [&](const planner::UnitSpan &span) { return !sends || span.sent >= span.first; });
  return spans;
}

Spans UnitMoves::readBefore(train::CommandOp command) const {
  Spans spans = spansAt(command, firsts, gathers, &planner::UnitSpan::begin);
  llvm::erase_if(
      spans, [&](const planner::UnitSpan &span) { return span.begin >= (sends ? span.sent : span.first); });
  return spans;
}

Spans UnitMoves::addedFrom(train::CommandOp command) const {
  return spansAt(command, firsts, scatters, &planner::UnitSpan::first);
}

Spans UnitMoves::finalBehind(train::CommandOp command) const {
  return spansAt(command, lasts, scatters, &planner::UnitSpan::last);
}

Spans UnitMoves::sentBehind(train::CommandOp command) const {
  Spans spans = spansAt(command, lasts, scatters, &planner::UnitSpan::end);
  llvm::erase_if(spans, [](const planner::UnitSpan &span) { return span.last >= span.end; });
  return spans;
}

} // namespace accum
