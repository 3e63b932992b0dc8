// SPDX-License-Identifier: Apache-2.0
// Greedy packing into the valleys of the skyline.
#include "compiler/Planner/Packing/ValleyFit.h"
#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

namespace accum::planner {

namespace {

/// Rectangles looked at between two looks at the clock: some 200 microseconds. One that is placed may have
/// been found among very many.
constexpr int64_t kVisitsPerLook = 20'000;
/// Placing one, or raising a floor, takes as long as looking at some.
constexpr int64_t kVisitsPerPlaced = 10;

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
void ValleyFit::prepare(std::span<const double> weights) {
  candidates.clear();
  candidates.reserve(byStart.size());
  for (int index : byStart) {
    const Rectangle &r = rectangles[index];
    candidates.push_back({r.start, r.end, r.size, weights[index]});
  }
  skip.resize(rectangles.size() + 1);
  std::iota(skip.begin(), skip.end(), 0);
}

int ValleyFit::bestInside(const SkylineRuns::Run &run, int64_t wall, const Closeness &closeness) {
  int best = -1, end = firstAt[run.end];
  double most = 0, perUnit = closeness.scale > 0 ? 1 / closeness.scale : 0;
  for (int at = nextUnplaced(firstAt[run.start]); at < end; at = nextUnplaced(at + 1)) {
    const Candidate &r = candidates[at];
    ++visits;
    if (r.end > run.end)
      continue;
    double weight = r.weight;
    if (perUnit > 0) {
      double before = r.start - run.start, behind = run.end - r.end;
      weight /= 1 + (std::min(before, behind) + closeness.both * std::max(before, behind)) * perUnit;
    }
    if (r.start == run.start && r.end == run.end)
      weight *= 2;
    if (run.floor + r.size == wall)
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
  prepare(weights);
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
    SkylineRuns::Run run = floors[lowest];
    int64_t wall = floors.wall(lowest);
    int at = bestInside(run, wall, closeness);
    if (at < 0) {
      floors.raise(lowest, wall);
      continue;
    }
    const Rectangle &r = rectangles[byStart[at]];
    skip[at] = at + 1;
    ++placed;
    packing.offsets[byStart[at]] = run.floor;
    packing.height = std::max(packing.height, run.floor + r.size);
    floors.raise(lowest, r.start, r.end, run.floor + r.size);
  }
  visits += kVisitsPerPlaced * static_cast<int64_t>(rectangles.size());
  return packing;
}

} // namespace accum::planner
