// SPDX-License-Identifier: Apache-2.0
// Before the first level: the two stacks of the fullest moments, and what lives beside them.
#include "compiler/Planner/LevelFit.h"
#include "compiler/Planner/ValleyNoise.h"
#include <algorithm>

namespace accum::planner {

/// Whatever lives at these moments waits, but for the two stacks.
void LevelFit::beginWithStacks(Way &way, const OpposedStacks &stacks, int64_t level, uint64_t seed,
                               Packing &packing) {
  candidates.arrange(stacks.isThere);
  setPrices(static_cast<double>(level), stacks.isThere);
  choice.amplitude = kNoise;
  choice.salt = mix(seed) % CandidateBlocks::kSalts;
  placeRows(way, stacks, true, packing);
  placeRows(way, stacks, false, packing);
  if (isOver)
    return;
  raiseTo(way, {stacks.start, stacks.end}, stacks.height);
  way.height = std::max(way.height, stacks.height);
  countWaste(stacks);
  accept(way, packing);
}

/// One of the stacks, from its bottom. What lives beside a row comes before it, up to its floor.
void LevelFit::placeRows(Way &way, const OpposedStacks &stacks, bool isEnding, Packing &packing) {
  const std::vector<OpposedStacks::Row> &rows = isEnding ? stacks.ending : stacks.beginning;
  RowCeilings ceilings(rectangles, rows, isEnding ? 0 : stacks.hanging, isEnding);
  for (size_t row = 0; row < rows.size(); ++row) {
    const Rectangle &r = rectangles[rows[row].index];
    int64_t offset = ceilings.offset(row);
    Stretch beside = isEnding ? Stretch{r.start, stacks.start} : Stretch{stacks.end, r.end};
    Stretch inside = isEnding ? Stretch{stacks.start, rows[row].edge} : Stretch{rows[row].edge, stacks.end};
    ceilings.next = row;
    raiseTo(way, inside, offset);
    fillBeside(way, beside, offset, ceilings);
    if (isOver)
      return;
    raiseTo(way, beside, offset + r.size);
    raiseTo(way, inside, offset + rows[row].size);
    for (int index : {rows[row].index, rows[row].other})
      if (index >= 0) {
        packing.offsets[index] = offset;
        isPlaced[index] = 1;
        ++way.placed;
      }
  }
}

/// Until the stretch is level, with what ends, or begins, outside of these moments and below all rows to
/// come.
void LevelFit::fillBeside(Way &way, Stretch part, int64_t level, const RowCeilings &ceilings) {
  while (way.floors.toLowest(part.start, part.end, level) && !isLate()) {
    const LevelFloors::Run run = way.floors.valley();
    int64_t wall = way.floors.wall();
    visits += kVisitsPerPlaced;
    CandidateBlocks::Valley valley = valleyOf(run, wall);
    valley.ceilings = &ceilings;
    valley.floor = run.floor;
    int at = candidates.heaviest(valley, choice, visits);
    if (at >= 0) {
      place(way, at, run.floor);
      continue;
    }
    Stretch raised = {std::max(run.start, part.start), std::min(run.end, part.end)};
    int64_t to = std::min(wall, level);
    if (raised.start >= raised.end) // a lower one beside the stretch
      raised = {run.start, run.end};
    way.wasted.push_back({raised.start, raised.end, static_cast<double>(to - run.floor) / most});
    way.floors.raise(raised.start, raised.end, to);
  }
}

/// What of a stretch is lower.
void LevelFit::raiseTo(Way &way, Stretch part, int64_t height) {
  while (way.floors.toLowest(part.start, part.end, height, false)) {
    const LevelFloors::Run &run = way.floors.valley();
    way.floors.raise(std::max(run.start, part.start), std::min(run.end, part.end), height);
  }
}

/// At these moments: all of the height but what the rows take.
void LevelFit::countWaste(const OpposedStacks &stacks) {
  std::vector<int64_t> changes(static_cast<size_t>(horizon) + 1, 0);
  for (const auto *rows : {&stacks.ending, &stacks.beginning})
    for (const OpposedStacks::Row &row : *rows)
      for (int index : {row.index, row.other})
        if (index >= 0) {
          changes[rectangles[index].start] += rectangles[index].size;
          changes[rectangles[index].end] -= rectangles[index].size;
        }
  int64_t load = 0;
  for (int time = 0; time < stacks.end; ++time) {
    load += changes[time];
    if (time >= stacks.start)
      wasted[time] += static_cast<double>(stacks.height - load) / most;
  }
}

} // namespace accum::planner
