// SPDX-License-Identifier: Apache-2.0
// Loads over time, weights, and greedy placement: on top of the skyline, or into the lowest gap.
#include "compiler/Planner/Packing/GreedyPacking.h"
#include <algorithm>
#include <cmath>
#include <tuple>

namespace accum::planner {

int horizonOf(std::span<const Rectangle> rectangles) {
  int horizon = 1;
  for (const Rectangle &r : rectangles)
    horizon = std::max(horizon, r.end);
  return horizon;
}

std::vector<int64_t> loadChanges(std::span<const Rectangle> rectangles) {
  std::vector<int64_t> change(static_cast<size_t>(horizonOf(rectangles)) + 1, 0);
  for (const Rectangle &r : rectangles) {
    change[r.start] += r.size;
    change[r.end] -= r.size;
  }
  return change;
}

int64_t maxLoad(std::span<const Rectangle> rectangles) {
  int64_t load = 0, largest = 0;
  for (int64_t delta : loadChanges(rectangles)) {
    load += delta;
    largest = std::max(largest, load);
  }
  return largest;
}

GreedyWeights::GreedyWeights(std::span<const Rectangle> rectangles) : rectangles(rectangles) {
  std::vector<int64_t> change = loadChanges(rectangles);
  size_t horizon = change.size() - 1;
  // A tree of maxima: the leaves are the loads, each inner node is above the two at twice its index.
  std::vector<int64_t> largest(2 * horizon, 0);
  int64_t load = 0;
  for (size_t time = 0; time < horizon; ++time)
    largest[horizon + time] = load += change[time];
  for (size_t node = horizon - 1; node > 0; --node)
    largest[node] = std::max(largest[2 * node], largest[2 * node + 1]);
  double most = 1;
  for (size_t time = 0; time < horizon; ++time)
    most = std::max(most, static_cast<double>(largest[horizon + time]));
  fullness.reserve(rectangles.size());
  for (const Rectangle &r : rectangles) {
    int64_t fullest = 0;
    for (size_t from = horizon + r.start, to = horizon + r.end; from < to; from /= 2, to /= 2) {
      if (from % 2 == 1)
        fullest = std::max(fullest, largest[from++]);
      if (to % 2 == 1)
        fullest = std::max(fullest, largest[--to]);
    }
    fullness.push_back(static_cast<double>(fullest) / most);
  }
}

std::vector<double> GreedyWeights::of(const Preference &preference) const {
  std::vector<double> weights;
  weights.reserve(rectangles.size());
  for (size_t index = 0; index < rectangles.size(); ++index) {
    const Rectangle &r = rectangles[index];
    double weight = std::pow(static_cast<double>(r.end) - r.start, preference.length) *
                    std::pow(static_cast<double>(r.size), preference.size);
    if (preference.load != 0)
      weight *= std::pow(fullness[index], preference.load);
    weights.push_back(weight);
  }
  return weights;
}

double GreedyWeights::meanLength() const {
  double sum = 0;
  for (const Rectangle &r : rectangles)
    sum += r.end - r.start;
  return sum / static_cast<double>(std::max<size_t>(1, rectangles.size()));
}

std::vector<int> GreedyWeights::order(const Preference &preference) const {
  std::vector<double> weights = of(preference);
  std::vector<std::tuple<double, int64_t, int>> keys;
  for (size_t index = 0; index < rectangles.size(); ++index)
    keys.emplace_back(-weights[index], -rectangles[index].size, static_cast<int>(index));
  std::sort(keys.begin(), keys.end());
  std::vector<int> order;
  for (const auto &key : keys)
    order.push_back(std::get<2>(key));
  return order;
}

namespace {

/// Heights over time: the highest top placed in an interval, and raising an interval to a new top. A tree
/// whose leaves are times, climbed from the leaves: mostly short ways, within few lines of cache.
class Skyline {
public:
  explicit Skyline(int horizon) : leaves(horizon), nodes(2 * leaves) {}

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

} // namespace

Packing stackUp(std::span<const Rectangle> rectangles, std::span<const int> order) {
  Skyline skyline(horizonOf(rectangles));
  Packing packing{std::vector<int64_t>(rectangles.size(), 0)};
  for (int index : order) {
    const Rectangle &r = rectangles[index];
    int64_t offset = packing.offsets[index] = skyline.top(r.start, r.end);
    skyline.raise(r.start, r.end, offset + r.size);
    packing.height = std::max(packing.height, offset + r.size);
  }
  return packing;
}

Packing firstFit(std::span<const Rectangle> rectangles, std::span<const int> order, Deadline deadline) {
  Packing packing{std::vector<int64_t>(rectangles.size(), 0)};
  std::vector<Placed> placed; // by offset
  placed.reserve(rectangles.size());
  for (int index : order) {
    if (deadline.hasPassed())
      return {{}, INT64_MAX};
    const Rectangle &r = rectangles[index];
    int64_t offset = 0;
    for (const Placed &other : placed) {
      if (other.offset - offset >= r.size)
        break; // every later one starts higher still
      if (other.start < r.end && r.start < other.end && other.top > offset)
        offset = other.top;
    }
    auto at = std::ranges::upper_bound(placed, offset, {}, &Placed::offset);
    placed.insert(at, {r.start, r.end, offset, offset + r.size});
    packing.offsets[index] = offset;
    packing.height = std::max(packing.height, offset + r.size);
  }
  return packing;
}

} // namespace accum::planner
