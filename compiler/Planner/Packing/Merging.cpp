// SPDX-License-Identifier: Apache-2.0
// Contracts what fits exactly, the least ambiguous first.
#include "compiler/Planner/Packing/Merging.h"
#include <algorithm>

namespace accum::planner {

namespace {

/// Rectangles of one moment that are tried for a pinwheel at most.
constexpr size_t kMostTried = 64;
/// Beyond so many of one moment, parts of others included, nothing tells who belongs together.
constexpr size_t kMostListed = 512;
/// Entries of lists looked at in all: some 0.5 s.
constexpr size_t kMostLooked = 100'000'000;

} // namespace

Merging::Merging(std::span<const Rectangle> rectangles, Deadline deadline)
    : Merging(rectangles, Extent(), deadline) {}

Merging::Merging(std::span<const Rectangle> rectangles, const Extent &extent, Deadline deadline)
    : extent(extent), deadline(deadline) {
  nodes.reserve(2 * rectangles.size());
  for (Table *table : {&byLife, &byStart, &byEnd, &startingAt, &endingAt})
    table->reserve(rectangles.size());
  for (const Rectangle &rectangle : rectangles)
    add(rectangle, Form::Whole, {});
  run();
}

void Merging::add(const Rectangle &rectangle, Form form, std::array<int, 5> parts) {
  int node = static_cast<int>(nodes.size());
  size_t count = form == Form::Whole ? 0 : form == Form::Pinwheel ? 5 : 2;
  for (size_t part = 0; part < count; ++part)
    nodes[parts[part]].isFree = false;
  for (size_t part = 0; part < count; ++part)
    wake(nodes[parts[part]].rectangle);
  nodes.push_back({rectangle, form, parts});
  freeCount += 1 - count;
  byLife[keyOf(rectangle.start, rectangle.end)].push_back(node);
  byStart[keyOf(rectangle.start, rectangle.size)].push_back(node);
  byEnd[keyOf(rectangle.end, rectangle.size)].push_back(node);
  startingAt[static_cast<uint64_t>(rectangle.start)].push_back(node);
  endingAt[static_cast<uint64_t>(rectangle.end)].push_back(node);
  open.push_back(node);
  if (count > 0)
    wake(rectangle);
}

/// Forgets those that are parts of others by now.
std::vector<int> &Merging::freeOf(Table &table, uint64_t key) {
  std::vector<int> &list = table[key];
  looked += list.size() + 1;
  if (list.size() > kMostListed)
    return none;
  std::erase_if(list, [&](int node) { return !nodes[node].isFree; });
  return list;
}

/// Of one life, and together, or with a third, of the size of what stands before or behind: that two lives
/// are equal happens by chance, that a sum fits as well does not. Without `proof`, any.
bool Merging::mergeSameLife(int node, bool proof) {
  const Rectangle own = nodes[node].rectangle;
  const std::vector<int> &same = freeOf(byLife, keyOf(own.start, own.end));
  if (same.size() < 2 || same.size() > kMostTried)
    return false;
  auto fits = [&](int64_t size) {
    return !freeOf(byEnd, keyOf(own.start, size)).empty() || !freeOf(byStart, keyOf(own.end, size)).empty();
  };
  int64_t all = 0;
  for (int each : same)
    all += nodes[each].rectangle.size;
  for (int other : same) {
    int64_t sum = own.size + nodes[other].rectangle.size;
    const Rectangle &its = nodes[other].rectangle;
    if (other == node || its.start != own.start || its.end != own.end ||
        (proof && !fits(sum) && !(same.size() == 3 && fits(all))))
      continue;
    add({own.start, own.end, sum}, Form::Above, {node, other});
    return true;
  }
  return false;
}

/// In time, where both sides have no other choice, or any.
bool Merging::mergeBeside(int node, bool ambiguous) {
  const Rectangle own = nodes[node].rectangle;
  for (int moment : {own.start, own.end}) {
    const std::vector<int> &before = freeOf(byEnd, keyOf(moment, own.size));
    const std::vector<int> &after = freeOf(byStart, keyOf(moment, own.size));
    if (before.empty() || after.empty() || (!ambiguous && (before.size() > 1 || after.size() > 1)))
      continue;
    int first = moment == own.start ? before.front() : node,
        second = moment == own.start ? node : after.front();
    const Rectangle a = nodes[first].rectangle, b = nodes[second].rectangle;
    if (first == second || a.end != b.start || a.size != b.size)
      continue;
    add({a.start, b.end, a.size}, Form::Beside, {first, second});
    return true;
  }
  return false;
}

bool Merging::mergePinwheel(int middle) {
  const Rectangle own = nodes[middle].rectangle;
  const std::vector<int> lefts = freeOf(endingAt, static_cast<uint64_t>(own.start));
  const std::vector<int> bottoms = freeOf(endingAt, static_cast<uint64_t>(own.end));
  if (lefts.size() > kMostTried || bottoms.size() > kMostTried)
    return false;
  for (int left : lefts)
    for (int bottom : bottoms)
      if (nodes[left].rectangle.start == nodes[bottom].rectangle.start &&
          nodes[left].rectangle.size > own.size && mergePinwheel(middle, left, bottom))
        return true;
  return false;
}

bool Merging::mergePinwheel(int middle, int left, int bottom) {
  const Rectangle own = nodes[middle].rectangle, low = nodes[bottom].rectangle;
  int64_t above = nodes[left].rectangle.size - own.size;
  for (int top : freeOf(byStart, keyOf(own.start, above))) {
    const Rectangle high = nodes[top].rectangle;
    if (high.start != own.start || high.size != above || high.end <= own.end)
      continue;
    for (int right : freeOf(byStart, keyOf(own.end, low.size + own.size))) {
      const Rectangle &last = nodes[right].rectangle;
      if (last.start != own.end || last.end != high.end || last.size != low.size + own.size)
        continue;
      add({low.start, high.end, low.size + own.size + above}, Form::Pinwheel,
          {bottom, left, middle, top, right});
      return true;
    }
  }
  return false;
}

/// Whatever ends or begins beside what changed may fit now.
void Merging::wake(const Rectangle &changed) {
  for (Table *table : {&startingAt, &endingAt})
    for (int moment : {changed.start, changed.end}) {
      const std::vector<int> &list = freeOf(*table, static_cast<uint64_t>(moment));
      if (list.size() <= kMostTried)
        open.insert(open.end(), list.begin(), list.end());
    }
}

bool Merging::isOver() const { return looked > kMostLooked || deadline.hasPassed(); }

void Merging::exhaust() {
  while (!open.empty() && !isOver()) {
    int node = open.back();
    open.pop_back();
    if (nodes[node].isFree && !mergeBeside(node, false))
      mergeSameLife(node, true);
  }
}

void Merging::run() {
  exhaust();
  auto forAll = [&](size_t least, auto merge) {
    std::vector<int> left;
    for (size_t node = 0; node < nodes.size(); ++node)
      if (nodes[node].isFree)
        left.push_back(static_cast<int>(node));
    std::ranges::sort(left, {}, [&](int node) {
      return std::pair(nodes[node].rectangle.start - nodes[node].rectangle.end, node); // the longest first
    });
    bool merged = false;
    for (int node : left) {
      if (isOver())
        return false;
      if (nodes[node].isFree && freeCount > least && merge(node)) {
        merged = true;
        exhaust();
      }
    }
    return merged;
  };
  while (!extent.isCertain && (forAll(1, [&](int node) { return mergePinwheel(node); }) ||
                               forAll(extent.least, [&](int node) { return mergeSameLife(node, false); }) ||
                               forAll(extent.least, [&](int node) { return mergeBeside(node, true); })))
    ;
}

std::vector<Rectangle> Merging::pieces() const {
  std::vector<Rectangle> left;
  for (const Node &node : nodes)
    if (node.isFree)
      left.push_back(node.rectangle);
  return left;
}

std::vector<int64_t> Merging::offsets(std::span<const int64_t> ofPieces) const {
  std::vector<int64_t> places(nodes.size(), 0);
  for (size_t node = 0, piece = 0; node < nodes.size(); ++node)
    if (nodes[node].isFree)
      places[node] = ofPieces[piece++];
  size_t wholes = 0;
  for (size_t at = nodes.size(); at-- > 0;) { // parts stand before what they make
    const auto &[rectangle, form, parts, isFree] = nodes[at];
    auto put = [&](size_t part, int64_t above) { places[parts[part]] = places[at] + above; };
    auto size = [&](size_t part) { return nodes[parts[part]].rectangle.size; };
    switch (form) {
    case Form::Whole:
      ++wholes;
      break;
    case Form::Beside:
    case Form::Above:
      put(0, 0);
      put(1, form == Form::Above ? size(0) : 0);
      break;
    case Form::Pinwheel:
      put(0, 0);
      put(1, size(0));
      put(2, size(0));
      put(3, size(0) + size(2));
      put(4, 0);
    }
  }
  places.resize(wholes);
  return places;
}

} // namespace accum::planner
