// SPDX-License-Identifier: Apache-2.0
// Greedy placement: on top of the skyline, or into the lowest gap.
#include "compiler/Planner/Packing/GreedyPacking.h"
#include <algorithm>

namespace accum::planner {

namespace {

/// Heights over time: the highest top placed in an interval, and raising an interval to a new top. A tree
/// whose leaves are times, climbed from the leaves: mostly short ways, within few lines of cache.
class Skyline {
public:
  explicit Skyline(int horizon) : leaves(std::max(1, horizon)), nodes(2 * leaves) {}

  int64_t top(int start, int end) const {
    int64_t top = 0;
    size_t from = leaves + start, to = leaves + end;
    for (size_t low = from, high = to; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1)
        top = std::max(top, nodes[low++].highest);
      if (high % 2 == 1)
        top = std::max(top, nodes[--high].highest);
    }
    for (size_t above : {from / 2, (to - 1) / 2})
      for (; above > 0; above /= 2)
        top = std::max(top, nodes[above].raised);
    return top;
  }

  /// `to` is never below the interval's top, so raising is a maximum and needs no push to the children.
  void raise(int start, int end, int64_t to) {
    size_t from = leaves + start, last = leaves + end;
    for (size_t low = from, high = last; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1)
        nodes[low++] = {to, to};
      if (high % 2 == 1)
        nodes[--high] = {to, to};
    }
    for (size_t above : {from / 2, (last - 1) / 2})
      for (; above > 0; above /= 2)
        nodes[above].highest = std::max(nodes[above].highest, to);
  }

private:
  struct Node {
    int64_t highest = 0; ///< of everything inside it
    int64_t raised = 0;  ///< of what covers the whole node
  };
  size_t leaves;
  std::vector<Node> nodes; ///< the two below a node are at twice its index
};

struct Placed {
  int start, end;
  int64_t offset, top;
};

/// A packing as it grows, and where the next one may stand.
class Placing {
public:
  Placing(std::span<const Rectangle> rectangles, std::span<const Restriction> restrictions)
      : rectangles(rectangles), restrictions(restrictions) {
    packing.offsets.assign(rectangles.size(), 0);
  }

  bool isFixed(int index) const { return !restrictions.empty() && restrictions[index].offset >= 0; }

  int64_t aligned(int index, int64_t offset) const {
    int64_t over = restrictions.empty() ? 0 : offset % restrictions[index].alignment;
    return over == 0 ? offset : offset - over + restrictions[index].alignment;
  }

  void put(int index, int64_t offset) {
    packing.offsets[index] = offset;
    packing.height = std::max(packing.height, offset + rectangles[index].size);
  }

  Packing packing;

private:
  std::span<const Rectangle> rectangles;
  std::span<const Restriction> restrictions;
};

} // namespace

Packing stackUp(std::span<const Rectangle> rectangles, std::span<const int> order,
                std::span<const Restriction> restrictions) {
  int horizon = 0;
  for (const Rectangle &r : rectangles)
    horizon = std::max(horizon, r.end);
  Skyline skyline(horizon);
  Placing placing(rectangles, restrictions);
  auto put = [&](int index, int64_t offset, int64_t top) {
    placing.put(index, offset);
    skyline.raise(rectangles[index].start, rectangles[index].end,
                  std::max(top, offset + rectangles[index].size));
  };
  auto topOf = [&](int index) { return skyline.top(rectangles[index].start, rectangles[index].end); };
  for (int index : order)
    if (placing.isFixed(index))
      put(index, restrictions[index].offset, topOf(index));
  for (int index : order)
    if (!placing.isFixed(index))
      put(index, placing.aligned(index, topOf(index)), 0);
  return std::move(placing.packing);
}

Packing firstFit(std::span<const Rectangle> rectangles, std::span<const int> order, Deadline deadline,
                 std::span<const Restriction> restrictions) {
  Placing placing(rectangles, restrictions);
  std::vector<Placed> placed; // by offset
  placed.reserve(rectangles.size());
  auto put = [&](int index, int64_t offset) {
    const Rectangle &r = rectangles[index];
    auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                               [](int64_t value, const Placed &other) { return value < other.offset; });
    placed.insert(at, {r.start, r.end, offset, offset + r.size});
    placing.put(index, offset);
  };
  for (int index : order)
    if (placing.isFixed(index))
      put(index, restrictions[index].offset);
  for (int index : order) {
    if (placing.isFixed(index))
      continue;
    if (deadline.hasPassed())
      return {{}, INT64_MAX};
    const Rectangle &r = rectangles[index];
    int64_t offset = 0;
    for (const Placed &other : placed) {
      if (other.offset - offset >= r.size)
        break; // every later one starts higher still
      if (other.start < r.end && r.start < other.end && other.top > offset)
        offset = placing.aligned(index, other.top);
    }
    put(index, offset);
  }
  return std::move(placing.packing);
}

} // namespace accum::planner
