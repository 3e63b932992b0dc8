// SPDX-License-Identifier: Apache-2.0
// Level by level, the best of many ways.
#include "compiler/Planner/LevelFit.h"
#include "compiler/Planner/ValleyNoise.h"
#include <algorithm>
#include <numeric>

namespace accum::planner {

namespace {

/// Visits between two looks at the clock.
constexpr int64_t kVisitsPerLook = 20'000;
/// What beginning a level costs, of the number of rectangles.
constexpr int64_t kRectanglesPerVisit = 8;
/// Ways to one level, at most.
constexpr int kMostWays = 60;
/// The height of a level: so many rectangles of mean size, where most live together.
constexpr double kLayers = 10;
/// Levels to a pass.
constexpr double kFewestLevels = 5, kMostLevels = 200;
/// Weights grow with such a power of the largest load that is lived through.
constexpr double kLoad = 30;
/// Of the mean length: the room beside a rectangle that halves its weight.
constexpr double kScale = 0.01;
/// What is free where a moment's room is worth half of what it is worth where all is full.
constexpr double kRoom = 0.003;
/// The price from which on a moment's waste decides.
constexpr double kDear = 0.2;
/// Of all the height: what is always thought to come yet.
constexpr double kLeastLeft = 0.05;

/// How many live together at most.
double mostAlive(std::span<const Rectangle> rectangles) {
  std::vector<Rectangle> units(rectangles.begin(), rectangles.end());
  for (Rectangle &r : units)
    r.size = 1;
  return static_cast<double>(maxLoad(units));
}

} // namespace

LevelFit::LevelFit(std::span<const Rectangle> rectangles, const GreedyWeights &weights, Deadline deadline)
    : rectangles(rectangles), weights(weights), deadline(deadline), horizon(horizonOf(rectangles)),
      most(static_cast<double>(maxLoad(rectangles))), candidates(rectangles, horizon),
      choice{static_cast<float>(1 / (kScale * weights.meanLength())), 0, 0} {
  clock.assign(static_cast<size_t>(horizon) + 1, 0);
  prices = clock;
}

/// By what is free yet, for all the height that is to come.
void LevelFit::setPrices(double level, std::span<const char> isOut) {
  double left = std::max(kLeastLeft, 1 - level / most);
  for (int time = 0; time < horizon; ++time) {
    double free = std::max(0.0, 1 - weights.load(time) - wasted[time]) / left;
    double price = kRoom / (kRoom + free);
    clock[time + 1] = clock[time] + price;
    prices[time + 1] = prices[time] + price * price;
  }
  auto isDear = [&](int time) { return clock[time + 1] - clock[time] > kDear; };
  dear = {0, horizon};
  while (dear.start < horizon && !isDear(dear.start))
    ++dear.start;
  while (dear.end > dear.start && !isDear(dear.end - 1))
    --dear.end;
  if (dear.start == dear.end || level >= most)
    dear = {0, horizon};
  candidates.weigh(base, clock, isOut);
  visits += static_cast<int64_t>(rectangles.size()) / kRectanglesPerVisit;
}

bool LevelFit::isLate() {
  if (visits >= nextLook) {
    nextLook = visits + kVisitsPerLook;
    isOver = isOver || visits > limit || deadline.hasPassed();
  }
  return isOver;
}

CandidateBlocks::Valley LevelFit::valleyOf(const LevelFloors::Run &run, int64_t wall) const {
  return {run.start, run.end, static_cast<float>(clock[run.start]), static_cast<float>(clock[run.end]),
          static_cast<float>(wall - run.floor)};
}

/// In the valley at hand.
void LevelFit::place(Way &way, int position, int64_t offset) {
  const Rectangle &r = rectangles[candidates.rectangleAt(position)];
  candidates.take(position);
  ++way.placed;
  way.done.push_back({position, offset});
  way.height = std::max(way.height, offset + r.size);
  way.floors.raise(r.start, r.end, offset + r.size);
}

/// Until no floor is below the level, or all stand, or it costs more than the best.
void LevelFit::climb(Way &way, int64_t level, Stretch part, const Way *best) {
  way.floors.goTo(part.start);
  while (way.placed < rectangles.size() && !isLate()) {
    if (!way.floors.toValley(level, part.end))
      return;
    const LevelFloors::Run run = way.floors.valley();
    visits += kVisitsPerPlaced;
    int64_t wall = way.floors.wall();
    int at = candidates.heaviest(valleyOf(run, wall), choice, visits);
    if (at < 0) {
      double height = static_cast<double>(wall - run.floor) / most;
      way.cost += (prices[run.end] - prices[run.start]) * height;
      if (best && way.cost >= best->cost)
        return;
      way.wasted.push_back({run.start, run.end, height});
      way.floors.raise(wall);
      continue;
    }
    place(way, at, run.floor);
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
  for (const Placed &placed : way.done) {
    int index = candidates.rectangleAt(placed.position);
    packing.offsets[index] = placed.offset;
    isPlaced[index] = 1;
  }
  for (const Waste &waste : way.wasted)
    for (int time = waste.start; time < waste.end; ++time)
      wasted[time] += waste.height;
  way.done.clear();
  way.wasted.clear();
  way.cost = 0;
}

Packing LevelFit::pack(const OpposedStacks::Setting &stacked, int64_t most, uint64_t seed) {
  Packing packing{.offsets = std::vector<int64_t>(rectangles.size(), 0), .height = INT64_MAX};
  limit = visits + 2 * most;
  isOver = false;
  wasted.assign(static_cast<size_t>(horizon), 0);
  isPlaced.assign(rectangles.size(), 0);
  std::vector<double> byIndex = weights.of({0, 0, kLoad});
  base.assign(byIndex.begin(), byIndex.end());
  double levels = std::clamp(mostAlive(rectangles) / kLayers, kFewestLevels, kMostLevels);
  auto step = std::max<int64_t>(1, static_cast<int64_t>(this->most / levels));
  auto perLevel = static_cast<int64_t>(static_cast<double>(most) / levels);
  Way from{LevelFloors(horizon)}, tried = from;
  if (auto stacks = opposedStacks(rectangles, weights, stacked); !stacks.isEmpty())
    beginWithStacks(from, stacks, step, seed, packing);
  if (isOver)
    return packing;
  size_t arranged = 0;
  int64_t end = visits;
  for (int64_t level = step; from.placed < rectangles.size(); level += step) {
    end += perLevel;
    if (arranged == 0 || (rectangles.size() - from.placed) * 8 < arranged * 7) {
      candidates.arrange(isPlaced);
      arranged = rectangles.size() - from.placed;
      visits += static_cast<int64_t>(arranged);
    }
    setPrices(static_cast<double>(level), isPlaced);
    Way best = from;
    for (int way = 0; way < kMostWays && (way == 0 || visits < end); ++way) {
      choice.amplitude = way == 0 ? 0 : kNoise;
      choice.salt = mix(mix(seed) + static_cast<uint64_t>(way) + static_cast<uint64_t>(level)) %
                    CandidateBlocks::kSalts;
      tried = from;
      climb(tried, level, dear, way > 0 && static_cast<double>(level) < this->most ? &best : nullptr);
      if (isOver)
        return packing;
      for (const Placed &placed : tried.done)
        candidates.putBack(placed.position);
      if (way == 0 || isBetter(tried, best))
        std::swap(tried, best);
    }
    for (const Placed &placed : best.done)
      candidates.take(placed.position);
    choice.amplitude = 0;
    climb(best, level, {0, horizon});
    accept(best, packing);
    std::swap(from, best);
  }
  packing.height = from.height;
  return packing;
}

} // namespace accum::planner
