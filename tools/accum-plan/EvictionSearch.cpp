// SPDX-License-Identifier: Apache-2.0
// Packing under a height by evicting what is in the way.
#include "tools/accum-plan/EvictionSearch.h"
#include "compiler/Planner/Packing/GreedyPacking.h"
#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

namespace accum::planner {

namespace {

/// Entries in all blocks per rectangle: blocks are as short as that allows.
constexpr int64_t kEntries = 4;
constexpr int kMostBlocks = 4096;
/// What is hard to find another place for: what is large, lives long, and where all is full.
constexpr Preference kHardToPlace = {0.5, 0.5, 10};
/// Of the largest weight: what nothing else weighs.
constexpr double kLeast = 1e-9;

int64_t alignUp(int64_t offset, int64_t alignment) {
  return alignment == 1 ? offset : (offset + alignment - 1) / alignment * alignment;
}

} // namespace

EvictionSearch::EvictionSearch(std::span<const Rectangle> rectangles, std::vector<int64_t> offsets,
                               std::span<const Restriction> restrictions, Deadline deadline)
    : rectangles(rectangles), restrictions(restrictions), deadline(deadline), places(rectangles.size(), -1) {
  for (const Rectangle &r : rectangles)
    horizon = std::max(horizon, r.end);
  weights = GreedyWeights(rectangles).of(kHardToPlace);
  double most = weights.empty() ? 1 : *std::max_element(weights.begin(), weights.end());
  for (double &weight : weights)
    weight = weight / most + kLeast;
  first = weights;
  makeBlocks();
  std::vector<int> order(rectangles.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return std::pair(offsets[a], a) < std::pair(offsets[b], b); });
  for (int index : order) // ascending, so that each goes to its block's end
    insert(index, offsets[index]);
}

/// As many blocks as a few entries per rectangle allow.
void EvictionSearch::makeBlocks() {
  auto entries = [&] {
    int64_t sum = 0;
    for (const Rectangle &r : rectangles)
      sum += blockOf(r.end - 1) - blockOf(r.start) + 1;
    return sum;
  };
  for (blockCount = std::min(kMostBlocks, horizon); blockCount > 1; blockCount /= 2)
    if (entries() <= kEntries * static_cast<int64_t>(rectangles.size()))
      break;
  blocks.resize(static_cast<size_t>(blockCount));
}

void EvictionSearch::insert(int index, int64_t offset) {
  const Rectangle &r = rectangles[index];
  places[index] = offset;
  for (int block = blockOf(r.start); block <= blockOf(r.end - 1); ++block) {
    auto at = std::upper_bound(blocks[block].begin(), blocks[block].end(), offset,
                               [](int64_t value, const Standing &other) { return value < other.offset; });
    blocks[block].insert(at, {offset, offset + r.size, r.start, r.end, index});
  }
}

void EvictionSearch::remove(int index) {
  const Rectangle &r = rectangles[index];
  for (int block = blockOf(r.start); block <= blockOf(r.end - 1); ++block) {
    auto at = std::lower_bound(blocks[block].begin(), blocks[block].end(), places[index],
                               [](const Standing &other, int64_t value) { return other.offset < value; });
    while (at->rectangle != index)
      ++at;
    blocks[block].erase(at);
  }
  places[index] = -1;
}

void EvictionSearch::wait(int index) {
  waiting.emplace_back(weights[index], index);
  std::push_heap(waiting.begin(), waiting.end());
}

int EvictionSearch::next() {
  std::pop_heap(waiting.begin(), waiting.end());
  int index = waiting.back().second;
  waiting.pop_back();
  return index;
}

/// What stands and lives together with it, each once, by offset.
void EvictionSearch::collect(const Rectangle &r) {
  near.clear();
  fixed.clear();
  int first = blockOf(r.start), last = blockOf(r.end - 1);
  for (int block = first; block <= last; ++block) {
    visits += static_cast<int64_t>(blocks[block].size()) / 4 + 1;
    for (const Standing &other : blocks[block])
      if (other.start < r.end && r.start < other.end && block == std::max(first, blockOf(other.start)))
        near.push_back(other);
  }
  if (!restrictions.empty())
    std::copy_if(near.begin(), near.end(), std::back_inserter(fixed),
                 [&](const Standing &other) { return isFixed(other.rectangle); });
  if (first < last)
    std::sort(near.begin(), near.end(),
              [](const Standing &a, const Standing &b) { return a.offset < b.offset; });
  visits += 3 * static_cast<int64_t>(near.size()) + 8;
}

/// The offset in the gap with the least room to spare, or -1.
int64_t EvictionSearch::gapFor(int index, int64_t height) const {
  int64_t best = -1, least = INT64_MAX, top = 0;
  int64_t size = rectangles[index].size, alignment = alignmentOf(index);
  auto consider = [&](int64_t end) {
    int64_t offset = alignUp(top, alignment);
    if (offset + size <= end && end - top - size < least) {
      best = offset;
      least = end - top - size;
    }
  };
  for (const Standing &other : near) {
    if (other.offset > top)
      consider(other.offset);
    top = std::max(top, other.top);
  }
  consider(height);
  return best;
}

bool EvictionSearch::isFree(int64_t offset, int64_t end) const {
  return std::none_of(fixed.begin(), fixed.end(),
                      [&](const Standing &other) { return other.offset < end && offset < other.top; });
}

/// Of the offsets on a top and right below a bottom, the one with the least weight in the way, or -1. What is
/// in the way of an offset begins below its end and is not over below it, so the weight is a difference of
/// two running sums.
int64_t EvictionSearch::leastInTheWay(int index, int64_t height) {
  const Rectangle &r = rectangles[index];
  int64_t alignment = alignmentOf(index);
  tops.clear();
  for (const Standing &other : near)
    tops.emplace_back(other.top, weights[other.rectangle]);
  std::sort(tops.begin(), tops.end());
  int64_t best = -1;
  double least = std::numeric_limits<double>::infinity(), begun = 0, over = 0;
  auto consider = [&](int64_t offset) {
    if (offset < 0 || offset + r.size > height || begun - over >= least || !isFree(offset, offset + r.size))
      return;
    best = offset;
    least = begun - over;
  };
  size_t next = 0;
  auto beginBelow = [&](int64_t end) {
    for (; next < near.size() && near[next].offset < end; ++next)
      begun += weights[near[next].rectangle];
  };
  beginBelow(r.size);
  consider(0);
  for (auto [top, weight] : tops) { // equal ones: the last counts
    over += weight;
    int64_t offset = alignUp(top, alignment);
    beginBelow(offset + r.size);
    consider(offset);
  }
  begun = over = 0;
  size_t done = 0;
  auto below = [&](int64_t bottom) {
    int64_t offset = bottom - r.size;
    offset -= offset > 0 ? offset % alignment : 0;
    for (; done < tops.size() && tops[done].first <= offset; ++done)
      over += tops[done].second;
    consider(offset);
  };
  for (const Standing &other : near) {
    below(other.offset);
    begun += weights[other.rectangle];
  }
  below(height);
  return best;
}

void EvictionSearch::evictAndInsert(int index, int64_t offset) {
  const Rectangle &r = rectangles[index];
  for (const Standing &other : near)
    if (other.offset < offset + r.size && offset < other.top) {
      remove(other.rectangle);
      wait(other.rectangle);
    }
  insert(index, offset);
}

bool EvictionSearch::run(int64_t height, int64_t most) {
  int64_t end = visits + most;
  for (size_t index = 0; index < rectangles.size(); ++index)
    if (rectangles[index].size > height ||
        (isFixed(static_cast<int>(index)) && restrictions[index].offset + rectangles[index].size > height))
      return false;
  for (size_t index = 0; index < rectangles.size(); ++index)
    if (places[index] >= 0 && places[index] + rectangles[index].size > height) {
      remove(static_cast<int>(index));
      wait(static_cast<int>(index));
    }
  while (!waiting.empty()) {
    if (visits >= end || deadline.hasPassed())
      return false;
    int index = next();
    collect(rectangles[index]);
    int64_t offset = gapFor(index, height);
    if (offset < 0) {
      offset = leastInTheWay(index, height);
      weights[index] += first[index]; // so that the search does not go round in circles
    }
    if (offset < 0) {
      wait(index);
      return false;
    }
    evictAndInsert(index, offset);
  }
  return true;
}

} // namespace accum::planner
