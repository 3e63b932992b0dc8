// SPDX-License-Identifier: Apache-2.0
// Gaps that arrivals take and departures join.
#include "compiler/Planner/LivingStack.h"
#include <algorithm>

namespace accum::planner {

LivingStack::LivingStack(int64_t height)
    : places{{0, 0, kNever, kNone, kCeiling, kNone, kNone},
             {height, 0, kNever, kFloor, kNone, kNone, kNone}} {}

int LivingStack::add(int rectangle, int64_t offset, int64_t size, int end, int below) {
  auto place = static_cast<int>(places.size());
  if (unused.empty()) {
    places.emplace_back();
  } else {
    place = unused.back();
    unused.pop_back();
  }
  int above = at(below).above;
  placeAt(place) = {offset, size, end, below, above, kNone, rectangle};
  placeAt(below).above = place;
  placeAt(above).below = place;
  return place;
}

int LivingStack::addGap(const Gap &gap) {
  free.push_back(gap);
  auto added = static_cast<int>(free.size()) - 1;
  placeAt(gap.below).gap = added;
  return added;
}

void LivingStack::removeGap(int gap) {
  auto removed = static_cast<size_t>(gap);
  if (removed + 1 < free.size()) {
    free[removed] = free.back();
    placeAt(free[removed].below).gap = gap;
  }
  free.pop_back();
}

void LivingStack::makeGaps(int since) {
  for (int below = kFloor; below != kCeiling; below = at(below).above) {
    const Place &lower = at(below), &upper = at(lower.above);
    if (lower.top() < upper.offset)
      addGap({lower.top(), upper.offset, below, lower.above, static_cast<float>(lower.end),
              static_cast<float>(upper.end), since});
  }
}

int LivingStack::arrive(int rectangle, int64_t size, int end, int gap, bool isLow) {
  const Gap taken = free[static_cast<size_t>(gap)];
  int place = add(rectangle, isLow ? taken.low : taken.high - size, size, end, taken.below);
  if (taken.size() == size) {
    placeAt(taken.below).gap = kNone;
    removeGap(gap);
    return place;
  }
  Gap &left = free[static_cast<size_t>(gap)];
  if (isLow) {
    placeAt(taken.below).gap = kNone;
    placeAt(place).gap = gap;
    left.low += size;
    left.below = place;
    left.endBelow = static_cast<float>(end);
  } else {
    left.high -= size;
    left.above = place;
    left.endAbove = static_cast<float>(end);
  }
  return place;
}

void LivingStack::depart(int place, int when) {
  const Place gone = at(place);
  int under = at(gone.below).gap, over = gone.gap;
  Gap joined{gone.offset,
             gone.top(),
             gone.below,
             gone.above,
             static_cast<float>(at(gone.below).end),
             static_cast<float>(at(gone.above).end),
             when};
  placeAt(gone.below).above = gone.above;
  placeAt(gone.above).below = gone.below;
  unused.push_back(place);
  if (over != kNone) {
    joined.high = free[static_cast<size_t>(over)].high;
    joined.since = std::max(joined.since, free[static_cast<size_t>(over)].since);
  }
  if (under == kNone && over == kNone) {
    addGap(joined);
    return;
  }
  if (under != kNone) {
    joined.low = free[static_cast<size_t>(under)].low;
    joined.since = std::max(joined.since, free[static_cast<size_t>(under)].since);
  }
  int kept = under != kNone ? under : over;
  free[static_cast<size_t>(kept)] = joined;
  placeAt(gone.below).gap = kept;
  if (under != kNone && over != kNone)
    removeGap(over);
}

} // namespace accum::planner
