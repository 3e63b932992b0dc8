// SPDX-License-Identifier: Apache-2.0
// Longest chains of an order, kept as it grows.
#include "compiler/Planner/SlidingOrder.h"
#include <algorithm>
#include <bit>
#include <numeric>

namespace accum::planner {

namespace {

/// Times that something is put in until all chains are counted anew, as removing only shortens them.
constexpr int kPutsPerSettling = 192;
/// Those that pushing passes by, which cost as much as one that is moved.
constexpr int64_t kPassedPerVisit = 4;
/// What stands in the order while its place is looked for.
constexpr int kMoved = -1;

int64_t larger(int64_t a, int64_t b) { return std::max(a, b); }
int64_t smaller(int64_t a, int64_t b) { return std::min(a, b); }
int64_t smallerOfValues(int64_t a, int64_t b) {
  return a == TimeRuns::kNone ? b : b == TimeRuns::kNone ? a : std::min(a, b);
}

} // namespace

SlidingOrder::SlidingOrder(std::span<const Rectangle> rectangles)
    : isThere(rectangles.size()), runs(horizonOf(rectangles)) {
  pieces.reserve(rectangles.size());
  for (const Rectangle &r : rectangles) {
    pieces.push_back({r.start, r.end, r.size});
    largest = std::max(largest, r.size);
  }
  classifyLives(rectangles);
}

/// Lengths of a class differ by less than a factor of two: whatever lives with a rectangle begins no longer
/// before it than that, and where some live for all of the time, not all of the short ones are looked at.
void SlidingOrder::classifyLives(std::span<const Rectangle> rectangles) {
  auto classOf = [](int length) {
    return static_cast<size_t>(std::bit_width(static_cast<unsigned>(length)));
  };
  classes.resize(classOf(horizonOf(rectangles)) + 1);
  for (int index = 0; index < static_cast<int>(rectangles.size()); ++index) {
    const Rectangle &r = rectangles[index];
    Lives &its = classes[classOf(r.end - r.start)];
    its.longest = std::max(its.longest, r.end - r.start);
    its.lives.push_back({r.start, r.end, index});
  }
  std::erase_if(classes, [](const Lives &those) { return those.lives.empty(); });
}

void SlidingOrder::begin(std::span<const int64_t> offsets, int64_t height) {
  limit = height;
  for (size_t index = 0; index < pieces.size(); ++index)
    pieces[index].low = offsets[index];
  isThere.assign(pieces.size(), 1);
  order.resize(pieces.size());
  std::iota(order.begin(), order.end(), 0);
  sortByTop();
  slideDown();
  std::erase_if(order, [&](int index) {
    isThere[index] = top(index) <= limit ? 1 : 0;
    return !stands(index);
  });
  settle();
}

void SlidingOrder::raise(int64_t height) {
  limit = height;
  settle();
}

/// Into as many parts of the height as there are rectangles, then each part by itself.
void SlidingOrder::sortByTop() {
  keys.clear();
  int64_t most = 0;
  for (int index : order) {
    keys.push_back({top(index), index});
    most = std::max(most, keys.back().top);
  }
  double scale = static_cast<double>(order.size()) / static_cast<double>(most + 1);
  auto partOf = [&](const Key &key) { return static_cast<size_t>(static_cast<double>(key.top) * scale); };
  ends.assign(order.size() + 2, 0);
  for (const Key &key : keys)
    ++ends[partOf(key) + 1];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  for (const Key &key : keys)
    order[ends[partOf(key)]++] = key.index;
  auto begin = order.begin();
  for (size_t part = 0; part <= order.size(); ++part) {
    auto end = order.begin() + ends[part];
    if (end - begin > 1)
      std::sort(begin, end, [&](int a, int b) { return std::pair(top(a), a) < std::pair(top(b), b); });
    begin = end;
  }
}

/// All, as far as they can.
void SlidingOrder::slideDown() {
  runs.reset(0);
  for (int index : order) {
    Piece &p = pieces[index];
    runs.replace(p.start, p.end, 0, larger, [&](int64_t floor) {
      p.low = floor;
      return floor + p.size;
    });
  }
}

void SlidingOrder::slideUp() {
  runs.reset(limit);
  for (size_t at = order.size(); at-- > 0;) {
    Piece &p = pieces[order[at]];
    runs.replace(p.start, p.end, limit, smaller, [&](int64_t ceiling) { return p.high = ceiling - p.size; });
  }
}

void SlidingOrder::settle() {
  slideDown();
  sortByTop();
  slideUp();
  visits += 2 * static_cast<int64_t>(order.size());
}

void SlidingOrder::collectNear(int index, std::vector<int> &near) const {
  const Piece &r = pieces[index];
  size_t count = 0;
  for (const Lives &those : classes) {
    auto startOf = [](const Lives::Life &life) { return life.start; };
    auto first = std::ranges::lower_bound(those.lives, r.start - those.longest + 1, {}, startOf);
    auto last = std::ranges::lower_bound(those.lives, r.end, {}, startOf);
    near.resize(count + static_cast<size_t>(last - first));
    for (; first != last; ++first) { // without a branch: half of them are
      near[count] = first->index;
      count += static_cast<size_t>((first->end > r.start ? 1 : 0) & isThere[first->index]);
    }
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
    ceiling = std::min(ceiling, isBelow ? limit : pieces[other].high);
  }
  pieces[index].low = low;
  pieces[index].high = ceiling - pieces[index].size;
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
  int pushing = order[at], start = pieces[pushing].start, end = pieces[pushing].end;
  int64_t most = top(pushing);
  runs.reset(TimeRuns::kNone);
  runs.assign(start, end, most);
  moved.clear();
  size_t next = at + 1;
  for (; next < order.size() && runs.valued() > 0; ++next) {
    int index = order[next];
    const Piece &r = pieces[index];
    if (r.end <= start || r.start >= end)
      continue;
    if (top(index) - largest >= most) // and all behind it stand as high
      break;
    ++visits;
    int64_t floor = runs.folded(r.start, r.end, TimeRuns::kNone, larger);
    if (floor == TimeRuns::kNone)
      continue;
    if (floor <= pieces[index].low) {
      runs.assign(r.start, r.end, TimeRuns::kNone);
      continue;
    }
    pieces[index].low = floor;
    runs.assign(r.start, r.end, top(index));
    moved.push_back(index);
    order[next] = kMoved;
    start = std::min(start, r.start);
    end = std::max(end, r.end);
    most = std::max(most, top(index));
  }
  visits += static_cast<int64_t>(next - at) / kPassedPerVisit;
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
  int pushing = order[at], start = pieces[pushing].start, end = pieces[pushing].end;
  runs.reset(TimeRuns::kNone);
  runs.assign(start, end, pieces[pushing].high);
  size_t next = at;
  while (next > 0 && runs.valued() > 0) {
    int index = order[--next];
    const Piece &r = pieces[index];
    if (r.end <= start || r.start >= end)
      continue;
    ++visits;
    int64_t ceiling = runs.folded(r.start, r.end, TimeRuns::kNone, smallerOfValues);
    if (ceiling == TimeRuns::kNone)
      continue;
    if (ceiling >= pieces[index].high + r.size) {
      runs.assign(r.start, r.end, TimeRuns::kNone);
      continue;
    }
    pieces[index].high = ceiling - r.size;
    runs.assign(r.start, r.end, pieces[index].high);
    start = std::min(start, r.start);
    end = std::max(end, r.end);
  }
  visits += static_cast<int64_t>(at - next) / kPassedPerVisit;
}

} // namespace accum::planner
