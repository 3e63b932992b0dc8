// SPDX-License-Identifier: Apache-2.0
// Runs of equal floors, joined and split.
#include "compiler/Planner/Packing/SkylineRuns.h"
#include <algorithm>
#include <functional>

namespace accum::planner {

SkylineRuns::SkylineRuns(int horizon) { merge(newRun(0, horizon, 0, -1, -1)); }

int SkylineRuns::lowest() {
  while (!runs[heap.front().second].alive || runs[heap.front().second].floor != heap.front().first) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
  }
  return heap.front().second;
}

int64_t SkylineRuns::wall(int run) const {
  int64_t before = runs[run].before < 0 ? INT64_MAX : runs[runs[run].before].floor;
  int64_t behind = runs[run].behind < 0 ? INT64_MAX : runs[runs[run].behind].floor;
  return std::min(before, behind);
}

void SkylineRuns::raise(int run, int64_t to) {
  runs[run].floor = to;
  merge(run);
}

void SkylineRuns::raise(int run, int start, int end, int64_t to) {
  Run old = runs[run];
  runs[run].alive = false;
  int before = old.before, behind = old.behind;
  int middle = newRun(start, end, to, before, behind);
  if (old.start < start)
    merge(newRun(old.start, start, old.floor, before, middle));
  if (end < old.end)
    merge(newRun(end, old.end, old.floor, middle, behind));
  merge(middle);
}

int SkylineRuns::newRun(int start, int end, int64_t floor, int before, int behind) {
  int run = static_cast<int>(runs.size());
  runs.push_back({start, end, floor, before, behind, true});
  link(before, run);
  link(run, behind);
  return run;
}

void SkylineRuns::link(int before, int behind) {
  if (before >= 0)
    runs[before].behind = behind;
  if (behind >= 0)
    runs[behind].before = before;
}

/// Joins a run with neighbours of the same floor, and puts it into the heap.
void SkylineRuns::merge(int run) {
  for (int side = 0; side < 2; ++side) {
    int other = side == 0 ? runs[run].before : runs[run].behind;
    if (other < 0 || runs[other].floor != runs[run].floor)
      continue;
    runs[other].alive = false;
    if (side == 0) {
      runs[run].start = runs[other].start;
      runs[run].before = runs[other].before;
      link(runs[run].before, run);
    } else {
      runs[run].end = runs[other].end;
      runs[run].behind = runs[other].behind;
      link(run, runs[run].behind);
    }
  }
  heap.emplace_back(runs[run].floor, run);
  std::push_heap(heap.begin(), heap.end(), std::greater<>());
}

} // namespace accum::planner
