// SPDX-License-Identifier: Apache-2.0
// Runs of equal floors in a list.
#include "compiler/Planner/LevelFloors.h"
#include <algorithm>

namespace accum::planner {

void LevelFloors::goTo(int time) {
  while (runs[at].start > time)
    at = runs[at].before;
  while (runs[at].end <= time)
    at = runs[at].behind;
}

bool LevelFloors::toValley(int64_t level, int end) {
  while (true) {
    const Run &run = runs[at];
    if (run.before >= 0 && runs[run.before].floor < std::min(run.floor, level))
      at = run.before;
    else if (run.floor < level && (run.behind < 0 || run.floor < runs[run.behind].floor))
      return true;
    else if (run.behind >= 0 && (run.floor < level || run.end < end))
      at = run.behind;
    else
      return false;
  }
}

bool LevelFloors::toLowest(int start, int end, int64_t level, bool toBottom) {
  if (start >= end)
    return false;
  goTo(start);
  int lowest = -1;
  for (int run = at; run >= 0 && runs[run].start < end; run = runs[run].behind)
    if (runs[run].floor < (lowest < 0 ? level : runs[lowest].floor))
      lowest = run;
  if (lowest < 0)
    return false;
  at = lowest;
  if (toBottom)
    for (int next = at; next >= 0; at = next < 0 ? at : next) {
      const Run &run = runs[at];
      next = run.before >= 0 && runs[run.before].floor < run.floor   ? run.before
             : run.behind >= 0 && runs[run.behind].floor < run.floor ? run.behind
                                                                     : -1;
    }
  return true;
}

int64_t LevelFloors::wall() const {
  const Run &run = runs[at];
  return std::min(run.before < 0 ? INT64_MAX : runs[run.before].floor,
                  run.behind < 0 ? INT64_MAX : runs[run.behind].floor);
}

void LevelFloors::raise(int64_t to) {
  runs[at].floor = to;
  merge();
}

void LevelFloors::raise(int start, int end, int64_t to) {
  const Run old = runs[at];
  if (old.start < start)
    newRun(old.start, start, old.floor, old.before, at);
  if (end < old.end)
    newRun(end, old.end, old.floor, at, old.behind);
  runs[at].start = start;
  runs[at].end = end;
  raise(to);
}

int LevelFloors::newRun(int start, int end, int64_t floor, int before, int behind) {
  int run = static_cast<int>(runs.size());
  if (unused.empty()) {
    runs.emplace_back();
  } else {
    run = unused.back();
    unused.pop_back();
  }
  runs[run] = {start, end, floor, before, behind};
  link(before, run);
  link(run, behind);
  return run;
}

void LevelFloors::link(int before, int behind) {
  if (before >= 0)
    runs[before].behind = behind;
  if (behind >= 0)
    runs[behind].before = before;
}

/// With neighbours of the same floor.
void LevelFloors::merge() {
  Run &run = runs[at];
  if (int other = run.before; other >= 0 && runs[other].floor == run.floor) {
    run.start = runs[other].start;
    link(runs[other].before, at);
    run.before = runs[other].before;
    unused.push_back(other);
  }
  if (int other = run.behind; other >= 0 && runs[other].floor == run.floor) {
    run.end = runs[other].end;
    link(at, runs[other].behind);
    run.behind = runs[other].behind;
    unused.push_back(other);
  }
}

} // namespace accum::planner
