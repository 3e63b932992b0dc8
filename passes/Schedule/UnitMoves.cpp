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

UnitMoves::UnitMoves(Block &body, const Contributions *contributions, const StateLayout &layout) {
  std::vector<std::vector<size_t>> reads, adds;
  Operation *before = nullptr;
  bool inSlices = false;
  for (auto command : body.getOps<train::CommandOp>()) {
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
  if (layout.hasPartsOf("parameter"))
    gathers = planner::gatherUnits(reads, units.bytes, units.stays, layout.gatheredBytes);
  if (layout.hasPartsOf("gradient"))
    scatters = planner::scatterUnits(adds, units.bytes, layout.scatteredBytes);
}

template <typename Holds>
static SmallVector<planner::UnitSpan> spansOf(const planner::UnitSchedule &schedule, Holds &&holds) {
  SmallVector<planner::UnitSpan> spans;
  for (const planner::UnitSpan &span : schedule.spans)
    if (holds(span))
      spans.push_back(span);
  return spans;
}

SmallVector<planner::UnitSpan> UnitMoves::gatheredBefore(train::CommandOp command) const {
  size_t at = positionOf(command);
  return spansOf(gathers,
                 [&](const planner::UnitSpan &span) { return isFirst(command) && span.first == at; });
}

SmallVector<planner::UnitSpan> UnitMoves::begunBefore(train::CommandOp command) const {
  size_t at = positionOf(command);
  return spansOf(gathers, [&](const planner::UnitSpan &span) {
    return isFirst(command) && span.begin == at && span.begin < span.first;
  });
}

SmallVector<planner::UnitSpan> UnitMoves::addedFrom(train::CommandOp command) const {
  size_t at = positionOf(command);
  return spansOf(scatters,
                 [&](const planner::UnitSpan &span) { return isFirst(command) && span.first == at; });
}

SmallVector<planner::UnitSpan> UnitMoves::finalBehind(train::CommandOp command) const {
  size_t at = positionOf(command);
  return spansOf(scatters, [&](const planner::UnitSpan &span) { return isLast(command) && span.last == at; });
}

SmallVector<planner::UnitSpan> UnitMoves::sentBehind(train::CommandOp command) const {
  size_t at = positionOf(command);
  return spansOf(scatters, [&](const planner::UnitSpan &span) {
    return isLast(command) && span.end == at && span.last < span.end;
  });
}

} // namespace accum
