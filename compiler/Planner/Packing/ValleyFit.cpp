// SPDX-License-Identifier: Apache-2.0
// Greedy packing into the valleys of the skyline.
#include "compiler/Planner/Packing/ValleyFit.h"
#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace accum::planner {

namespace {

/// Rectangles looked at between two looks at the clock: some 200 microseconds. One that is placed may have
/// been found among very many.
constexpr int64_t kVisitsPerLook = 20'000;
/// Placing one, or raising a floor, takes as long as looking at some.
constexpr int64_t kVisitsPerPlaced = 10;

/// A skyline as runs of equal floors, the lowest first.
/// Floors over [0, horizon), at first 0. Neighbours of one floor are joined; the horizon's ends are walls.
class SkylineRuns {
public:
  struct Run {
    int start, end;
    int64_t floor;
    int before, behind; ///< neighbours, -1: a wall
    bool alive;
  };

  explicit SkylineRuns(int horizon);

  /// The lowest run, of equal ones the one that was made first.
  int lowest();
  const Run &operator[](int run) const { return runs[run]; }
  /// The lower of the two floors beside it; INT64_MAX: walls only.
  int64_t wall(int run) const;
  void raise(int run, int64_t to);
  /// Raises [start, end) of a run; what is left of it stays on its floor.
  void raise(int run, int start, int end, int64_t to);

private:
  int newRun(int start, int end, int64_t floor, int before, int behind);
  void link(int before, int behind);
  void merge(int run);

  std::vector<Run> runs;
  std::vector<std::pair<int64_t, int>>
      heap; ///< (floor, run), lowest first; stale entries are dropped when met
};

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

} // namespace

ValleyFit::ValleyFit(std::span<const Rectangle> rectangles, Deadline deadline)
    : rectangles(rectangles), deadline(deadline), byStart(rectangles.size()) {
  for (const Rectangle &r : rectangles)
    horizon = std::max(horizon, r.end);
  firstAt.assign(horizon + 2, 0);
  for (const Rectangle &r : rectangles)
    ++firstAt[r.start + 1];
  std::partial_sum(firstAt.begin(), firstAt.end(), firstAt.begin());
  std::vector<int> next = firstAt;
  for (size_t index = 0; index < rectangles.size(); ++index)
    byStart[next[rectangles[index].start]++] = static_cast<int>(index);
}

int ValleyFit::nextUnplaced(int position) {
  while (skip[position] != position) {
    skip[position] = skip[skip[position]];
    position = skip[position];
  }
  return position;
}

/// All are unplaced again.
void ValleyFit::prepare(std::span<const double> weights, const Closeness &closeness) {
  candidates.clear();
  candidates.reserve(byStart.size());
  auto clock = [&](int time) { return closeness.clock.empty() ? time : closeness.clock[time]; };
  for (int index : byStart) {
    const Rectangle &r = rectangles[index];
    candidates.push_back({r.start, r.end, r.size, weights[index], clock(r.start), clock(r.end)});
  }
  skip.resize(rectangles.size() + 1);
  std::iota(skip.begin(), skip.end(), 0);
}

int ValleyFit::bestInside(const Valley &valley, const Closeness &closeness) {
  int best = -1, end = firstAt[valley.end];
  double most = 0, perUnit = closeness.scale > 0 ? 1 / closeness.scale : 0;
  auto clock = [&](int time) { return closeness.clock.empty() ? time : closeness.clock[time]; };
  double from = clock(valley.start), to = clock(valley.end);
  for (int at = nextUnplaced(firstAt[valley.start]); at < end; at = nextUnplaced(at + 1)) {
    const Candidate &r = candidates[at];
    ++visits;
    if (r.end > valley.end)
      continue;
    double weight = r.weight;
    if (perUnit > 0) {
      double before = r.from - from, behind = to - r.to;
      weight /= 1 + (std::min(before, behind) + closeness.both * std::max(before, behind)) * perUnit;
    }
    if (r.start == valley.start && r.end == valley.end)
      weight *= 2;
    if (valley.floor + r.size == valley.wall)
      weight *= 2;
    if (best < 0 || weight > most) {
      most = weight;
      best = at;
    }
  }
  return best;
}

Packing ValleyFit::pack(std::span<const double> weights, int64_t most, const Closeness &closeness) {
  Packing packing;
  int64_t end = visits + most;
  packing.offsets.assign(rectangles.size(), 0);
  prepare(weights, closeness);
  SkylineRuns floors(horizon);
  int64_t nextLook = 0, steps = 0;
  auto isLate = [&] {
    int64_t work = visits + kVisitsPerPlaced * ++steps;
    if (work < nextLook)
      return false;
    nextLook = work + kVisitsPerLook;
    return deadline.hasPassed();
  };
  for (size_t placed = 0; placed < rectangles.size();) {
    if (visits > end || isLate()) {
      packing.height = INT64_MAX;
      break;
    }
    int lowest = floors.lowest();
    const SkylineRuns::Run &floor = floors[lowest];
    Valley valley = {floor.start, floor.end, floor.floor, floors.wall(lowest)};
    int at = bestInside(valley, closeness);
    if (at < 0) {
      floors.raise(lowest, valley.wall);
      continue;
    }
    const Rectangle &r = rectangles[byStart[at]];
    skip[at] = at + 1;
    ++placed;
    packing.offsets[byStart[at]] = valley.floor;
    packing.height = std::max(packing.height, valley.floor + r.size);
    floors.raise(lowest, r.start, r.end, valley.floor + r.size);
  }
  visits += kVisitsPerPlaced * static_cast<int64_t>(rectangles.size());
  return packing;
}

} // namespace accum::planner
