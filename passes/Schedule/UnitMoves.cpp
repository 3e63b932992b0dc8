// SPDX-License-Identifier: Apache-2.0
// Commands and operands, in the planner's numbers.
#include "passes/Schedule/UnitMoves.h"
#include "dialects/NN/Views.h"
#include "passes/Schedule/SliceKernels.h"

using namespace mlir;

namespace accum {
namespace {

void addOnce(std::vector<size_t> &units, size_t unit) {
  if (!llvm::is_contained(units, unit))
    units.push_back(unit);
}

} // namespace

UnitMoves::UnitMoves(Block &body, const Contributions *contributions, const StateLayout &layout) {
  std::vector<std::vector<size_t>> reads, adds;
  Operation *before = nullptr;
  bool inSlices = false;
  for (auto command : body.getOps<train::CommandOp>()) {
    bool sliced = command->hasAttr(kSlice);
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
      if (auto load = nn::behindViews(input).getDefiningOp<train::LoadParamOp>())
        if (auto unit = layout.unitOf(load.getParam()))
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
  std::vector<int64_t> bytes;
  for (const StateLayout::Unit &unit : layout.units)
    bytes.push_back(static_cast<int64_t>(unit.bytes));
  if (layout.hasPartsOf("parameter"))
    gathers = planner::gatherUnits(reads, bytes);
  if (layout.hasPartsOf("gradient"))
    scatters = planner::scatterUnits(adds, bytes);
}

static SmallVector<planner::UnitSpan> spansAt(const planner::UnitSchedule &schedule,
                                              size_t planner::UnitSpan::*edge, size_t position) {
  SmallVector<planner::UnitSpan> spans;
  for (const planner::UnitSpan &span : schedule.spans)
    if (span.*edge == position)
      spans.push_back(span);
  return spans;
}

SmallVector<planner::UnitSpan> UnitMoves::gatheredBefore(train::CommandOp command) const {
  if (!isFirst(command))
    return {};
  return spansAt(gathers, &planner::UnitSpan::begin, positionOf(command));
}

SmallVector<planner::UnitSpan> UnitMoves::scatteredBefore(train::CommandOp command) const {
  if (!isFirst(command))
    return {};
  return spansAt(scatters, &planner::UnitSpan::begin, positionOf(command));
}

SmallVector<planner::UnitSpan> UnitMoves::scatteredBehind(train::CommandOp command) const {
  if (!isLast(command))
    return {};
  return spansAt(scatters, &planner::UnitSpan::end, positionOf(command));
}

} // namespace accum
