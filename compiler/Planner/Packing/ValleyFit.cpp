// SPDX-License-Identifier: Apache-2.0
// Greedy packing into the valleys of the skyline.
#include "compiler/Planner/Packing/ValleyFit.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace accum::planner {

namespace {

/// The skyline as runs of equal floors over [0, horizon); neighbours of one floor are joined.
class SkylineRuns {
public:
  struct Run {
    int start, end;
    int64_t floor;
  };
  explicit SkylineRuns(int horizon) { insert({0, horizon, 0}); }

  /// Of equal ones the earliest.
  const Run &lowest() const { return runs.at(byFloor.begin()->second); }

  /// The lower of the two floors beside it; INT64_MAX: the ends of the horizon only.
  int64_t wall(const Run &run) const {
    auto at = runs.find(run.start), behind = std::next(at);
    return std::min(at == runs.begin() ? INT64_MAX : std::prev(at)->second.floor,
                    behind == runs.end() ? INT64_MAX : behind->second.floor);
  }

  /// Raises [start, end) of a run; what is left of it stays on its floor.
  void raise(Run run, int start, int end, int64_t to) {
    Run raised{start, end, to};
    erase(run);
    if (run.start < start)
      insert({run.start, start, run.floor});
    if (end < run.end)
      insert({end, run.end, run.floor});
    if (auto behind = runs.find(end); behind != runs.end() && behind->second.floor == to) {
      raised.end = behind->second.end;
      erase(Run(behind->second));
    }
    if (auto at = runs.lower_bound(start); at != runs.begin() && std::prev(at)->second.floor == to) {
      raised.start = std::prev(at)->second.start;
      erase(Run(std::prev(at)->second));
    }
    insert(raised);
  }

private:
  void insert(const Run &run) {
    runs.emplace(run.start, run);
    byFloor.emplace(run.floor, run.start);
  }
  void erase(const Run &run) {
    byFloor.erase({run.floor, run.start});
    runs.erase(run.start);
  }

  std::map<int, Run> runs; ///< by start
  std::set<std::pair<int64_t, int>> byFloor;
};

/// Rectangles looked at between two looks at the clock: some 200 microseconds. One that is placed may have
/// been found among very many.
constexpr int64_t kVisitsPerLook = 20'000;
/// Placing one, or raising a floor, takes as long as looking at some.
constexpr int64_t kVisitsPerPlacing = 10;

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

int ValleyFit::bestInside(int start, int end, int64_t room, const Closeness &closeness) {
  int best = -1, last = firstAt[end];
  double most = 0, perUnit = closeness.scale > 0 ? 1 / closeness.scale : 0;
  for (int at = nextUnplaced(firstAt[start]); at < last; at = nextUnplaced(at + 1)) {
    const Candidate &r = candidates[at];
    ++visits;
    if (r.end > end)
      continue;
    double weight = r.weight;
    if (perUnit > 0) {
      double before = r.start - start, behind = end - r.end;
      weight /= 1 + (std::min(before, behind) + closeness.both * std::max(before, behind)) * perUnit;
    }
    if (r.start == start && r.end == end)
      weight *= 2;
    if (r.size == room)
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
    int64_t work = visits + kVisitsPerPlacing * ++steps;
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
    SkylineRuns::Run run = floors.lowest();
    int64_t wall = floors.wall(run);
    int at = bestInside(run.start, run.end, wall - run.floor, closeness);
    if (at < 0) {
      floors.raise(run, run.start, run.end, wall);
      continue;
    }
    const Rectangle &r = rectangles[byStart[at]];
    skip[at] = at + 1;
    ++placed;
    packing.offsets[byStart[at]] = run.floor;
    packing.height = std::max(packing.height, run.floor + r.size);
    floors.raise(run, r.start, r.end, run.floor + r.size);
  }
  visits += kVisitsPerPlacing * static_cast<int64_t>(rectangles.size());
  return packing;
}

} // namespace accum::planner
