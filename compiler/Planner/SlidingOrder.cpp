// SPDX-License-Identifier: Apache-2.0
// Longest chains of an order, kept as it grows.
#include "compiler/Planner/SlidingOrder.h"
#include <algorithm>
#include <numeric>

namespace accum::planner {

namespace {

/// Times that something is put in until all chains are counted anew, as removing only shortens them.
constexpr int kPutsPerSettling = 64;
/// What stands in the order while its place is looked for.
constexpr int kMoved = -1;

int horizonOf(std::span<const Rectangle> rectangles) {
  int horizon = 1;
  for (const Rectangle &r : rectangles)
    horizon = std::max(horizon, r.end);
  return horizon;
}

int64_t larger(int64_t a, int64_t b) { return std::max(a, b); }
int64_t smaller(int64_t a, int64_t b) { return std::min(a, b); }
int64_t smallerOfValues(int64_t a, int64_t b) {
  return a == TimeRuns::kNone ? b : b == TimeRuns::kNone ? a : std::min(a, b);
}

} // namespace

SlidingOrder::SlidingOrder(std::span<const Rectangle> rectangles)
    : rectangles(rectangles), lows(rectangles.size()), highs(rectangles.size()), isThere(rectangles.size()),
      runs(horizonOf(rectangles)) {
  for (const Rectangle &r : rectangles) {
    longest = std::max(longest, r.end - r.start);
    largest = std::max(largest, r.size);
  }
}

void SlidingOrder::begin(std::span<const int64_t> offsets, int64_t height) {
  limit = height;
  lows.assign(offsets.begin(), offsets.end());
  isThere.assign(rectangles.size(), 1);
  order.resize(rectangles.size());
  std::iota(order.begin(), order.end(), 0);
  sortByTop();
  slideDown();
  std::erase_if(order, [&](int index) {
    isThere[index] = top(index) <= limit ? 1 : 0;
    return !stands(index);
  });
  settle();
}

void SlidingOrder::sortByTop() {
  std::ranges::sort(order, [&](int a, int b) { return std::pair(top(a), a) < std::pair(top(b), b); });
}

/// All, as far as they can.
void SlidingOrder::slideDown() {
  runs.reset(0);
  for (int index : order) {
    const Rectangle &r = rectangles[index];
    lows[index] = runs.folded(r.start, r.end, 0, larger);
    runs.assign(r.start, r.end, top(index));
  }
}

void SlidingOrder::slideUp() {
  runs.reset(limit);
  for (size_t at = order.size(); at-- > 0;) {
    int index = order[at];
    const Rectangle &r = rectangles[index];
    highs[index] = runs.folded(r.start, r.end, limit, smaller) - r.size;
    runs.assign(r.start, r.end, highs[index]);
  }
}

void SlidingOrder::settle() {
  slideDown();
  sortByTop();
  slideUp();
  visits += 2 * static_cast<int64_t>(order.size());
}

void SlidingOrder::collectNear(int index, std::vector<int> &near) const {
  const Rectangle &r = rectangles[index];
  auto startOf = [](const Rectangle &other) { return other.start; };
  auto first = std::ranges::lower_bound(rectangles, r.start - longest, {}, startOf);
  auto last = std::ranges::lower_bound(rectangles, r.end, {}, startOf);
  near.resize(static_cast<size_t>(last - first));
  size_t count = 0;
  int at = static_cast<int>(first - rectangles.begin());
  for (auto other = first; other != last; ++other, ++at) { // without a branch: half of them are
    near[count] = at;
    count += static_cast<size_t>((other->end > r.start ? 1 : 0) & isThere[at]);
  }
  near.resize(count);
}

void SlidingOrder::remove(int index) {
  auto at = std::ranges::lower_bound(order, top(index), {}, [&](int other) { return top(other); });
  order.erase(std::find(at, order.end(), index));
  isThere[index] = 0;
}

void SlidingOrder::put(int index, int64_t cut, std::span<const int> near) {
  int64_t low = 0, ceiling = limit;
  for (int other : near) {
    int64_t under = top(other);
    bool isBelow = under <= cut;
    low = std::max(low, isBelow ? under : 0);
    ceiling = std::min(ceiling, isBelow ? limit : highs[other]);
  }
  lows[index] = low;
  highs[index] = ceiling - rectangles[index].size;
  isThere[index] = 1;
  auto place = std::ranges::upper_bound(order, cut, {}, [&](int other) { return top(other); });
  place = order.insert(place, index);
  if (++puts % kPutsPerSettling == 0)
    return settle();
  auto at = static_cast<size_t>(place - order.begin());
  pushUp(at);
  pushDown(moveUp(at));
}

/// What stands on it, and on that, as far as there is no gap. Whatever stands on what need not move does not
/// move either.
void SlidingOrder::pushUp(size_t at) {
  int pushing = order[at], start = rectangles[pushing].start, end = rectangles[pushing].end;
  int64_t most = top(pushing);
  runs.reset(TimeRuns::kNone);
  runs.assign(start, end, most);
  moved.clear();
  size_t next = at + 1;
  for (; next < order.size() && runs.valued() > 0; ++next) {
    int index = order[next];
    const Rectangle &r = rectangles[index];
    if (r.end <= start || r.start >= end)
      continue;
    if (top(index) - largest >= most) // and all behind it stand as high
      break;
    int64_t floor = runs.folded(r.start, r.end, TimeRuns::kNone, larger);
    if (floor == TimeRuns::kNone)
      continue;
    if (floor <= lows[index]) {
      runs.assign(r.start, r.end, TimeRuns::kNone);
      continue;
    }
    lows[index] = floor;
    runs.assign(r.start, r.end, top(index));
    moved.push_back(index);
    order[next] = kMoved;
    start = std::min(start, r.start);
    end = std::max(end, r.end);
    most = std::max(most, top(index));
  }
  visits += static_cast<int64_t>(next - at);
  mergeMoved(at + 1, next);
}

/// Those that were moved back into the order, behind what they are above now.
void SlidingOrder::mergeMoved(size_t from, size_t to) {
  if (moved.empty())
    return;
  auto topOf = [&](int index) { return top(index); };
  std::ranges::sort(moved, {}, topOf);
  merged.clear();
  auto next = moved.begin();
  for (size_t at = from; at < to || next != moved.end(); ++at) {
    int index = at < order.size() ? order[at] : kMoved;
    if (index == kMoved && at < to)
      continue;
    for (; next != moved.end() && (index == kMoved || top(*next) < top(index)); ++next)
      merged.push_back(*next);
    if (index != kMoved)
      merged.push_back(index);
  }
  std::ranges::copy(merged, order.begin() + static_cast<int64_t>(from));
}

/// To its place in the order, which is where it is now.
size_t SlidingOrder::moveUp(size_t at) {
  for (; at + 1 < order.size() && top(order[at + 1]) < top(order[at]); ++at)
    std::swap(order[at], order[at + 1]);
  for (; at > 0 && top(order[at - 1]) > top(order[at]); --at)
    std::swap(order[at], order[at - 1]);
  return at;
}

/// The same with what it stands on.
void SlidingOrder::pushDown(size_t at) {
  int pushing = order[at], start = rectangles[pushing].start, end = rectangles[pushing].end;
  runs.reset(TimeRuns::kNone);
  runs.assign(start, end, highs[pushing]);
  size_t next = at;
  while (next > 0 && runs.valued() > 0) {
    int index = order[--next];
    const Rectangle &r = rectangles[index];
    if (r.end <= start || r.start >= end)
      continue;
    int64_t ceiling = runs.folded(r.start, r.end, TimeRuns::kNone, smallerOfValues);
    if (ceiling == TimeRuns::kNone)
      continue;
    if (ceiling >= highs[index] + r.size) {
      runs.assign(r.start, r.end, TimeRuns::kNone);
      continue;
    }
    highs[index] = ceiling - r.size;
    runs.assign(r.start, r.end, highs[index]);
    start = std::min(start, r.start);
    end = std::max(end, r.end);
  }
  visits += static_cast<int64_t>(at - next);
}

} // namespace accum::planner
