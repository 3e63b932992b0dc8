// SPDX-License-Identifier: Apache-2.0
// Where the least weight is in the way, of rectangles that slide.
#include "compiler/Planner/SlidingEvictions.h"
#include "compiler/Planner/GreedyWeights.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace accum::planner {

namespace {

/// What is hard to find another place for: what is large, lives long, and where all is full, with what is
/// free where a moment counts half.
constexpr Preference kHardToPlace = {1, 1, 30, true};
constexpr double kRoom = 0.01;
/// Of the mean weight: what nothing weighs less than, and what being evicted adds.
constexpr double kLeast = 0.005, kGain = 0.05;
/// Changes to a part of the height.
constexpr size_t kPerPart = 4;
/// Changes that cost as much to sort as a visit.
constexpr int64_t kChangesPerVisit = 2;
/// Weights that differ by less are sums of the same ones.
constexpr double kNothing = 1e-12;
/// Put in between two looks at the clock.
constexpr int kPutsPerLook = 64;

std::vector<int> byStart(std::span<const Rectangle> rectangles) {
  std::vector<int> indices(rectangles.size());
  std::iota(indices.begin(), indices.end(), 0);
  std::ranges::sort(indices, {}, [&](int index) { return std::pair(rectangles[index].start, index); });
  return indices;
}

std::vector<Rectangle> taken(std::span<const Rectangle> rectangles, const std::vector<int> &indices) {
  std::vector<Rectangle> taken;
  taken.reserve(indices.size());
  for (int index : indices)
    taken.push_back(rectangles[index]);
  return taken;
}

} // namespace

SlidingEvictions::SlidingEvictions(std::span<const Rectangle> rectangles, const std::vector<int64_t> &offsets,
                                   Deadline deadline)
    : deadline(deadline), indices(byStart(rectangles)), sorted(taken(rectangles, indices)), order(sorted),
      places(offsets) {
  GreedyWeights greedy(sorted);
  first = greedy.of(kHardToPlace, greedy.clock(kRoom));
  double mean = std::accumulate(first.begin(), first.end(), 0.0) / static_cast<double>(first.size());
  for (double &weight : first)
    weight = weight / mean + kLeast;
}

bool SlidingEvictions::run(int64_t height, int64_t visits) {
  if (std::ranges::any_of(sorted, [&](const Rectangle &r) { return r.size > height; }))
    return false;
  if (!waiting.empty() && height >= order.height())
    order.raise(height); // most of what was moved already has its place there
  else
    begin(height);
  int64_t end = visited() + visits;
  for (int puts = 1; !waiting.empty(); ++puts) {
    if (visited() >= end || (puts % kPutsPerLook == 0 && deadline.hasPassed()))
      return false;
    putWhereLeast(next());
  }
  for (size_t at = 0; at < sorted.size(); ++at)
    places[indices[at]] = order.lowest(static_cast<int>(at));
  return true;
}

void SlidingEvictions::begin(int64_t height) {
  std::vector<int64_t> offsets;
  offsets.reserve(indices.size());
  for (int index : indices)
    offsets.push_back(places[index]);
  order.begin(offsets, height);
  weights = first;
  waiting.clear();
  for (size_t at = 0; at < sorted.size(); ++at)
    if (!order.stands(static_cast<int>(at)))
      waiting.push_back(static_cast<int>(at));
}

/// The heaviest that waits.
int SlidingEvictions::next() {
  auto heaviest = std::ranges::max_element(waiting, {}, [&](int index) { return weights[index]; });
  int index = *heaviest;
  *heaviest = waiting.back();
  waiting.pop_back();
  return index;
}

void SlidingEvictions::putWhereLeast(int index) {
  order.collectNear(index, near);
  int64_t cut = cutFor(index), size = sorted[index].size;
  std::erase_if(near, [&](int other) {
    if (order.top(other) <= cut || order.highest(other) >= cut + size)
      return false;
    order.remove(other);
    waiting.push_back(other);
    weights[other] += kGain;
    return true;
  });
  order.put(index, cut, near);
}

/// The lowest of the heights with the least weight in the way. A rectangle is in the way of all heights
/// between where it could slide up above the new one and where it is below that anyway. Only parts of the
/// height where that can be less than below them are looked at change by change.
int64_t SlidingEvictions::cutFor(int index) {
  collectChanges(index);
  if (std::ranges::none_of(changes, [](const Change &change) { return change.at == 0; }))
    return 0;
  partChanges();
  int64_t most = order.height() - sorted[index].size, cut = 0;
  double weight = 0, least = INFINITY;
  auto begin = changes.begin();
  for (const Part &part : parts) {
    auto end = changes.begin() + part.end;
    if (weight - part.falling >= least - kNothing) {
      weight += part.net;
      begin = end;
      continue;
    }
    std::ranges::sort(begin, end, {},
                      [](const Change &change) { return std::pair(change.at, change.weight); });
    while (begin != end) {
      int64_t at = begin->at;
      if (at > most)
        return cut;
      for (; begin != end && begin->at == at; ++begin)
        weight += begin->weight;
      if (weight >= least - kNothing)
        continue;
      least = weight;
      cut = at;
      if (weight < kNothing)
        return cut;
    }
  }
  return cut;
}

void SlidingEvictions::collectChanges(int index) {
  int64_t size = sorted[index].size;
  changes.clear();
  for (int other : near) {
    int64_t from = order.highest(other) - size + 1, to = order.top(other);
    if (from >= to)
      continue;
    changes.push_back({std::max<int64_t>(from, 0), weights[other]});
    changes.push_back({to, -weights[other]});
  }
  visits += static_cast<int64_t>(near.size() + changes.size()) / kChangesPerVisit;
}

/// By counting.
void SlidingEvictions::partChanges() {
  size_t count = changes.size() / kPerPart + 1;
  double scale = static_cast<double>(count) / static_cast<double>(order.height() + 1);
  auto partOf = [&](const Change &change) {
    return static_cast<size_t>(static_cast<double>(change.at) * scale);
  };
  parts.assign(count + 1, {});
  for (const Change &change : changes) {
    size_t at = partOf(change);
    ++parts[at + 1].end;
    parts[at].net += change.weight;
    parts[at].falling -= std::min(change.weight, 0.0);
  }
  for (size_t at = 1; at < count; ++at)
    parts[at].end += parts[at - 1].end;
  unsorted.swap(changes);
  changes.resize(unsorted.size());
  for (const Change &change : unsorted)
    changes[parts[partOf(change)].end++] = change;
  parts.pop_back();
}

} // namespace accum::planner
