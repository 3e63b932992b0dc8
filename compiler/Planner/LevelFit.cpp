// SPDX-License-Identifier: Apache-2.0
// Level by level, the best of many ways.
#include "compiler/Planner/LevelFit.h"
#include "compiler/Planner/ValleyNoise.h"
#include <algorithm>
#include <numeric>

namespace accum::planner {

namespace {

/// Visits between two looks at the clock, and what placing one or raising a floor costs.
constexpr int64_t kVisitsPerLook = 20'000, kVisitsPerPlaced = 40;
/// What beginning a level and one way costs, of the number of rectangles.
constexpr int64_t kRectanglesPerVisit = 8;
/// Ways to one level, at most.
constexpr int kMostWays = 60;
/// Noise on weights, at most, and how many numbers there are of it: a power of two.
constexpr double kNoise = 0.3;
constexpr size_t kNoises = 8192;
/// Of the mean length: the room beside a rectangle that halves its weight.
constexpr double kScale = 0.01;
/// What is free where a moment's room is worth half of what it is worth where all is full.
constexpr double kRoom = 0.003;
/// Of all the height: what is always thought to come yet.
constexpr double kLeastLeft = 0.05;

} // namespace

LevelFit::LevelFit(std::span<const Rectangle> rectangles, const GreedyWeights &weights, Deadline deadline)
    : rectangles(rectangles), weights(weights), deadline(deadline),
      most(static_cast<double>(maxLoad(rectangles))), perUnit(1 / (kScale * weights.meanLength())),
      byStart(rectangles.size()) {
  for (const Rectangle &r : rectangles)
    horizon = std::max(horizon, r.end);
  firstAt.assign(static_cast<size_t>(horizon) + 2, 0);
  for (const Rectangle &r : rectangles)
    ++firstAt[r.start + 1];
  std::partial_sum(firstAt.begin(), firstAt.end(), firstAt.begin());
  std::vector<int> next = firstAt;
  for (size_t index = 0; index < rectangles.size(); ++index)
    byStart[next[rectangles[index].start]++] = static_cast<int>(index);
  for (int index : byStart) {
    const Rectangle &r = rectangles[index];
    candidates.push_back({r.start, r.end, r.size, 0, 0, 0});
  }
  clock.assign(static_cast<size_t>(horizon) + 1, 0);
  prices = clock;
  for (size_t index = 0; index < kNoises; ++index)
    noises.push_back(static_cast<double>(mix(index) >> 40) * 0x1p-24);
}

/// By what is free yet, for all the height that is to come.
void LevelFit::setPrices(double level) {
  double left = std::max(kLeastLeft, 1 - level / most);
  for (int time = 0; time < horizon; ++time) {
    double free = std::max(0.0, 1 - weights.load(time) - wasted[time]) / left;
    double price = kRoom / (kRoom + free);
    clock[time + 1] = clock[time] + price;
    prices[time + 1] = prices[time] + price * price;
  }
  for (size_t at = 0; at < candidates.size(); ++at) {
    Candidate &r = candidates[at];
    r.from = clock[r.start];
    r.to = clock[r.end];
    r.weight = base[at] * (r.to - r.from);
  }
  visits += static_cast<int64_t>(candidates.size()) / kRectanglesPerVisit;
}

int LevelFit::bestInside(Way &way, const SkylineRuns::Run &run, int64_t wall) {
  int best = -1, end = firstAt[run.end];
  double heaviest = 0, from = clock[run.start], to = clock[run.end];
  auto nextUnplaced = [&skip = way.skip](int at) {
    while (skip[at] != at)
      at = skip[at] = skip[skip[at]];
    return at;
  };
  for (int at = nextUnplaced(firstAt[run.start]); at < end; at = nextUnplaced(at + 1)) {
    const Candidate &r = candidates[at];
    ++visits;
    if (r.end > run.end)
      continue;
    double weight = r.weight / (1 + (r.from - from + to - r.to) * perUnit);
    weight *= 1 + amplitude * noises[(static_cast<size_t>(at) + salt) % kNoises];
    if (r.start == run.start && r.end == run.end)
      weight *= 2;
    if (run.floor + r.size == wall)
      weight *= 2;
    if (best < 0 || weight > heaviest) {
      heaviest = weight;
      best = at;
    }
  }
  return best;
}

bool LevelFit::isLate() {
  if (visits >= nextLook) {
    nextLook = visits + kVisitsPerLook;
    isOver = isOver || visits > limit || deadline.hasPassed();
  }
  return isOver;
}

/// Until no floor is below the level, or all stand.
void LevelFit::climb(Way &way, int64_t level) {
  visits += static_cast<int64_t>(candidates.size()) / kRectanglesPerVisit;
  while (way.placed < rectangles.size() && !isLate()) {
    int lowest = way.floors.lowest();
    SkylineRuns::Run run = way.floors[lowest];
    if (run.floor >= level)
      return;
    visits += kVisitsPerPlaced;
    int64_t wall = way.floors.wall(lowest);
    int at = bestInside(way, run, wall);
    if (at < 0) {
      double height = static_cast<double>(wall - run.floor) / most;
      way.cost += (prices[run.end] - prices[run.start]) * height;
      way.wasted.push_back({run.start, run.end, height});
      way.floors.raise(lowest, wall);
      continue;
    }
    const Candidate &r = candidates[at];
    way.skip[at] = at + 1;
    ++way.placed;
    way.done.push_back({at, run.floor});
    way.height = std::max(way.height, run.floor + r.size);
    way.floors.raise(lowest, r.start, r.end, run.floor + r.size);
  }
}

/// What places all is as good as it is low.
bool LevelFit::isBetter(const Way &way, const Way &than) const {
  bool isWhole = way.placed == rectangles.size();
  if (isWhole != (than.placed == rectangles.size()))
    return isWhole;
  return isWhole ? way.height < than.height : way.cost < than.cost;
}

/// The next level begins from there.
void LevelFit::accept(Way &way, Packing &packing) {
  for (const Placed &placed : way.done)
    packing.offsets[byStart[placed.position]] = placed.offset;
  for (const Waste &waste : way.wasted)
    for (int time = waste.start; time < waste.end; ++time)
      wasted[time] += waste.height;
  way.done.clear();
  way.wasted.clear();
  way.cost = 0;
  way.floors.compact();
}

Packing LevelFit::pack(const Setting &setting, int64_t most, uint64_t seed) {
  Packing packing{.offsets = std::vector<int64_t>(rectangles.size(), 0), .height = INT64_MAX};
  limit = visits + 2 * most;
  isOver = false;
  wasted.assign(static_cast<size_t>(horizon), 0);
  std::vector<double> byIndex = weights.of({0, setting.size, setting.load});
  base.clear();
  for (int index : byStart)
    base.push_back(byIndex[index]);
  auto step = std::max<int64_t>(1, static_cast<int64_t>(setting.step * this->most));
  auto perLevel = static_cast<int64_t>(setting.step * static_cast<double>(most));
  Way from{SkylineRuns(horizon), std::vector<int>(rectangles.size() + 1)}, tried = from;
  std::iota(from.skip.begin(), from.skip.end(), 0);
  for (int64_t level = step; from.placed < rectangles.size(); level += step) {
    int64_t end = visits + perLevel;
    setPrices(static_cast<double>(level));
    Way best = from;
    for (int way = 0; way < kMostWays && (way == 0 || visits < end); ++way) {
      amplitude = way == 0 ? 0 : kNoise;
      salt = mix(mix(seed) + static_cast<uint64_t>(way) + static_cast<uint64_t>(level)) % kNoises;
      tried = from;
      climb(tried, level);
      if (isOver)
        return packing;
      if (way == 0 || isBetter(tried, best))
        std::swap(tried, best);
    }
    accept(best, packing);
    std::swap(from, best);
  }
  packing.height = from.height;
  return packing;
}

} // namespace accum::planner
