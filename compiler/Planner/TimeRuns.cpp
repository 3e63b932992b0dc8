// SPDX-License-Identifier: Apache-2.0
// Runs by the bits of their starts.
#include "compiler/Planner/TimeRuns.h"
#include <algorithm>

namespace accum::planner {

TimeRuns::TimeRuns(int horizon)
    : horizon(horizon), starts(wordOf(horizon) + 1), words(starts.size() / kBits + 1),
      values(static_cast<size_t>(horizon) + 1) {
  reset(kNone);
}

void TimeRuns::reset(int64_t value) {
  std::ranges::fill(starts, 0);
  std::ranges::fill(words, 0);
  add(0);
  add(horizon); // where looking for the next one ends
  values[0] = value;
  count = value == kNone ? 0 : 1;
}

/// There is one: 0 always starts a run.
int TimeRuns::lastBefore(int word) const {
  size_t block = wordOf(word - 1);
  uint64_t filled = words[block] & upTo(word - 1);
  while (filled == 0)
    filled = words[--block];
  auto last = static_cast<size_t>(lastOf(block, filled));
  return lastOf(last, starts[last]);
}

/// There is one: the horizon is marked too.
int TimeRuns::firstBehind(int word) const {
  size_t block = wordOf(word + 1);
  uint64_t filled = words[block] & from(word + 1);
  while (filled == 0)
    filled = words[++block];
  auto first = static_cast<size_t>(firstOf(block, filled));
  return firstOf(first, starts[first]);
}

void TimeRuns::assign(int start, int end, int64_t value) {
  int first = runAt(start);
  for (int run = first; run < end;) {
    int64_t old = values[static_cast<size_t>(run)];
    int behind = next(run);
    if (behind > end) {
      add(end);
      values[static_cast<size_t>(end)] = old;
      count += old == kNone ? 0 : 1;
    }
    if (run >= start)
      count -= old == kNone ? 0 : 1;
    if (run > start)
      remove(run);
    run = behind;
  }
  if (first < start)
    add(start);
  values[static_cast<size_t>(start)] = value;
  count += value == kNone ? 0 : 1;
}

} // namespace accum::planner
