// SPDX-License-Identifier: Apache-2.0
// An allocator that knows all ends, begins where all is full, and may change its mind.
#include "compiler/Planner/OutwardFit.h"
#include "compiler/Planner/ValleyNoise.h"
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace accum::planner {

namespace {

/// What a gap that is filled is worth, in mean lengths, and how sharply less one with something left, by its
/// part of the mean size.
constexpr float kFilled = 0.2F, kSharpness = 50;
/// Ends that lie further apart than so many mean lengths are all alike.
constexpr float kFar = 3;
/// On what a gap costs, at most: of its distance in mean lengths, and this more.
constexpr float kNoise = 0.3F, kLeastNoise = 0.1F;
constexpr size_t kNoises = 8192, kMostNoisyGaps = 4096, kNoiseStep = 37;
/// What may go to another gap counts as such a part of its weight, and what gives way is worth it up to a
/// part.
constexpr double kMovable = 0.15, kWorth = 0.9, kLeastWeight = 0.001;
constexpr int64_t kLooksPerLookAtClock = 200'000;
/// Those that stand anywhere, of which one visit passes by so many.
constexpr int64_t kStandingPerVisit = 4;
/// What it costs, in gaps, to weigh one that lives.
constexpr int64_t kGapsPerLiving = 8;

int fullestMoment(std::span<const Rectangle> rectangles) {
  int64_t load = 0, most = 0;
  int moment = 0, time = 0;
  for (int64_t change : loadChanges(rectangles)) {
    load += change;
    if (load > most) {
      most = load;
      moment = time;
    }
    ++time;
  }
  return moment;
}

} // namespace

OutwardFit::OutwardFit(std::span<const Rectangle> rectangles, Deadline deadline)
    : rectangles(rectangles), deadline(deadline), placeOf(rectangles.size()) {
  int horizon = horizonOf(rectangles), moment = fullestMoment(rectangles);
  double lengths = 0, sizes = 0;
  std::vector<Rectangle> lives(rectangles.begin(), rectangles.end()), mirrored;
  for (const Rectangle &r : rectangles) {
    lengths += r.end - r.start;
    sizes += static_cast<double>(r.size);
    mirrored.push_back({horizon - r.end, horizon - r.start, r.size});
  }
  auto count = static_cast<double>(std::max<size_t>(1, rectangles.size()));
  meanLength = std::max(1.0, lengths / count);
  meanSize = std::max(1.0, sizes / count);
  onward = directionOf(std::move(lives), moment);
  backward = directionOf(std::move(mirrored), horizon - moment - 1);
  for (int index = 0; index < static_cast<int>(rectangles.size()); ++index) {
    const Rectangle &r = rectangles[index];
    if (r.start <= moment && moment < r.end)
      (r.end - moment < moment - r.start ? lower : upper).push_back(index);
  }
  std::ranges::sort(lower, {}, [&](int index) { return std::pair(-rectangles[index].end, index); });
  std::ranges::sort(upper, {}, [&](int index) { return std::pair(rectangles[index].start, index); });
  for (size_t at = 0; at < kNoises + kMostNoisyGaps; ++at)
    noises.push_back(static_cast<float>(mix(at) >> 40) * 0x1p-24F);
}

OutwardFit::Direction OutwardFit::directionOf(std::vector<Rectangle> lives, int moment) const {
  Direction direction{std::move(lives), moment, {}, {}};
  auto at = [&](int index) -> const Rectangle & { return direction.lives[static_cast<size_t>(index)]; };
  for (int index = 0; index < static_cast<int>(rectangles.size()); ++index) {
    if (at(index).start > moment)
      direction.arrivals.push_back(index);
    if (at(index).end > moment)
      direction.departures.push_back(index);
  }
  std::ranges::sort(direction.arrivals, {}, [&](int index) {
    return std::tuple(at(index).start, -at(index).size, -at(index).end, index);
  });
  std::ranges::sort(direction.departures, {}, [&](int index) { return std::pair(at(index).end, index); });
  return direction;
}

double OutwardFit::weightOf(int index) const {
  const Rectangle &r = rectangles[index];
  return static_cast<double>(r.size) / meanSize * (1 + (r.end - r.start) / meanLength);
}

bool OutwardFit::isLate() {
  if (visits >= nextLook) {
    nextLook = visits + kLooksPerLookAtClock;
    isOver = isOver || visits > limit || deadline.hasPassed();
  }
  return isOver;
}

Packing OutwardFit::pack(int64_t height, uint64_t seed, int64_t most) {
  offsets.assign(rectangles.size(), -1);
  salt = mix(seed) % kNoises;
  amplitude = seed == 0 ? 0 : kNoise;
  limit = visits + most * kGapsPerVisit;
  nextLook = visits;
  isOver = false;
  stackFullest(height);
  sweep(onward, height);
  sweep(backward, height);
  putRest(height);
  Packing packing{.offsets = offsets, .height = isOver ? INT64_MAX : 0};
  for (size_t index = 0; index < rectangles.size() && !isOver; ++index)
    packing.height = std::max(packing.height, offsets[index] + rectangles[index].size);
  return packing;
}

/// What ends soon from below, the last end at the bottom, and what began lately from above: so the gap
/// between them grows from its sides, whichever way time goes.
void OutwardFit::stackFullest(int64_t height) {
  int64_t top = 0;
  for (int index : lower) {
    offsets[index] = top;
    top += rectangles[index].size;
  }
  for (int index : upper) {
    height -= rectangles[index].size;
    offsets[index] = height;
  }
}

void OutwardFit::sweep(const Direction &direction, int64_t height) {
  LivingStack stack(height);
  std::ranges::fill(placeOf, LivingStack::kNone);
  int below = LivingStack::kFloor;
  auto add = [&](int index) {
    const Rectangle &r = direction.lives[index];
    if (offsets[index] >= 0) // the other way it may have given way
      below = placeOf[index] = stack.add(index, offsets[index], r.size, r.end, below);
  };
  std::ranges::for_each(lower, add);
  std::for_each(upper.rbegin(), upper.rend(), add);
  stack.makeGaps(direction.moment + 1);
  auto departure = direction.departures.begin();
  for (int index : direction.arrivals) {
    if (isLate())
      return;
    const Rectangle &r = direction.lives[index];
    for (; direction.lives[*departure].end <= r.start; ++departure)
      if (placeOf[*departure] != LivingStack::kNone)
        stack.depart(placeOf[*departure], direction.lives[*departure].end);
    Choice choice = choose(stack, r, r.start, amplitude);
    if (choice.gap != LivingStack::kNone)
      put(stack, index, r, choice);
    else
      makeRoom(stack, direction, index);
  }
}

/// Of those that are large enough and nothing was in since then.
OutwardFit::Choice OutwardFit::choose(const LivingStack &stack, const Rectangle &r, int since, float noise) {
  auto perLength = static_cast<float>(1 / meanLength), perSize = static_cast<float>(1 / meanSize);
  auto end = static_cast<float>(r.end);
  size_t from = (salt + static_cast<size_t>(r.start) * kNoiseStep + static_cast<size_t>(r.size)) % kNoises;
  float least = INFINITY;
  Choice choice;
  for (size_t at = 0; at < stack.gaps().size(); ++at) {
    const LivingStack::Gap &gap = stack.gaps()[at];
    if (gap.size() < r.size || gap.since > since)
      continue;
    float toLow = std::abs(end - gap.endBelow), toHigh = std::abs(end - gap.endAbove);
    float distance = std::min(std::min(toLow, toHigh) * perLength, kFar);
    float left = static_cast<float>(gap.size() - r.size) * perSize;
    float cost = distance - kFilled / (1 + kSharpness * left) +
                 noise * (kLeastNoise + distance) * noises[from + at % kMostNoisyGaps];
    if (cost < least) {
      least = cost;
      choice = {static_cast<int>(at), toLow < toHigh};
    }
  }
  visits += static_cast<int64_t>(stack.gaps().size()) + kGapsPerVisit;
  return choice;
}

void OutwardFit::put(LivingStack &stack, int index, const Rectangle &r, Choice choice) {
  placeOf[index] = stack.arrive(index, r.size, r.end, choice.gap, choice.isLow);
  offsets[index] = stack.at(placeOf[index]).offset;
}

/// All that lives, with less weight for what a gap is old enough and large enough for.
void OutwardFit::weighStack(const LivingStack &stack, const Direction &direction) {
  oldGaps.clear();
  for (const LivingStack::Gap &gap : stack.gaps())
    oldGaps.emplace_back(gap.since, gap.size());
  std::ranges::sort(oldGaps);
  int64_t largest = 0;
  std::erase_if(oldGaps, [&](const std::pair<int, int64_t> &gap) {
    return gap.second <= std::exchange(largest, std::max(largest, gap.second));
  });
  stacked.clear();
  inTheWay.clear();
  for (int place = stack.at(LivingStack::kFloor).above; place != LivingStack::kCeiling;
       place = stack.at(place).above) {
    const LivingStack::Place &living = stack.at(place);
    auto younger =
        std::ranges::upper_bound(oldGaps, std::pair(direction.lives[living.rectangle].start, INT64_MAX));
    bool isMovable = younger != oldGaps.begin() && std::prev(younger)->second >= living.size;
    stacked.push_back(place);
    inTheWay.push_back(weightOf(living.rectangle) * (isMovable ? kMovable : 1) + kLeastWeight);
  }
  visits += static_cast<int64_t>(stacked.size() + stack.gaps().size()) * kGapsPerLiving;
}

/// Where the least weight is in the way, if that is less than its own: in the room from the top of one to the
/// bottom of another, without all between.
void OutwardFit::makeRoom(LivingStack &stack, const Direction &direction, int index) {
  const Rectangle &r = direction.lives[index];
  weighStack(stack, direction);
  double least = kWorth * weightOf(index), weight = 0;
  size_t first = 0, last = 0, end = 0;
  auto bottomOf = [&](size_t at) {
    return at < stacked.size() ? stack.at(stacked[at]).offset : stack.at(LivingStack::kCeiling).offset;
  };
  for (size_t from = 0; from < stacked.size(); ++from) {
    int64_t low = from > 0 ? stack.at(stacked[from - 1]).top() : 0;
    end = std::max(end, from);
    for (; end < stacked.size() && bottomOf(end) - low < r.size; ++end)
      weight += inTheWay[end];
    if (bottomOf(end) - low < r.size)
      break;
    if (end > from && weight < least) {
      least = weight;
      first = from;
      last = end;
    }
    if (end > from)
      weight -= inTheWay[from];
  }
  if (first == last)
    return;
  std::vector<int> evicted;
  int below = stack.at(stacked[first]).below;
  for (size_t at = first; at < last; ++at) {
    int other = stack.at(stacked[at]).rectangle;
    evicted.push_back(other);
    placeOf[other] = LivingStack::kNone;
    offsets[other] = -1;
    stack.depart(stacked[at], r.start);
  }
  put(stack, index, r, {stack.at(below).gap, true});
  std::ranges::sort(evicted, {}, [&](int other) { return std::pair(-rectangles[other].size, other); });
  for (int other : evicted) {
    const Rectangle &life = direction.lives[other];
    Choice choice = choose(stack, life, life.start, 0);
    if (choice.gap != LivingStack::kNone)
      put(stack, other, life, choice);
  }
}

/// The heaviest first.
void OutwardFit::putRest(int64_t height) {
  std::vector<int> rest;
  standing.clear();
  for (int index = 0; index < static_cast<int>(rectangles.size()); ++index)
    if (offsets[index] < 0)
      rest.push_back(index);
    else
      standing.push_back({offsets[index], rectangles[index]});
  std::ranges::sort(standing, {}, &Standing::offset);
  std::ranges::sort(rest, {}, [&](int index) { return std::pair(-weightOf(index), index); });
  for (int index : rest) {
    if (isLate())
      return;
    const Rectangle &r = rectangles[index];
    offsets[index] = freeOffset(r, height);
    auto above = std::ranges::upper_bound(standing, offsets[index], {}, &Standing::offset);
    standing.insert(above, {offsets[index], r});
    visits += static_cast<int64_t>(standing.size()) * kGapsPerVisit / kStandingPerVisit;
  }
}

/// In the tightest gap below the height, or the lowest above it.
int64_t OutwardFit::freeOffset(const Rectangle &r, int64_t height) const {
  int64_t floor = 0, tightest = INT64_MAX, offset = 0;
  auto isRoomBelow = [&](int64_t low) {
    int64_t room = std::min(low, height) - floor;
    if (room >= r.size && room < tightest) {
      tightest = room;
      offset = floor;
    }
    return tightest == INT64_MAX && low - floor >= r.size;
  };
  for (const Standing &other : standing) {
    if (other.life.start >= r.end || other.life.end <= r.start)
      continue;
    if (isRoomBelow(other.offset))
      return floor;
    floor = std::max(floor, other.offset + other.life.size);
  }
  return isRoomBelow(INT64_MAX) ? floor : offset;
}

} // namespace accum::planner
