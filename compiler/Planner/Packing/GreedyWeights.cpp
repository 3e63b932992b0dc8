// SPDX-License-Identifier: Apache-2.0
// Loads over time and their maxima over lifetimes.
#include "compiler/Planner/Packing/GreedyWeights.h"
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
  int horizon = 0;
  for (const Rectangle &r : rectangles)
    horizon = std::max(horizon, r.end);
  std::vector<int64_t> change(horizon + 1, 0);
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
  size_t horizon = 1;
  for (const Rectangle &r : rectangles)
    horizon = std::max(horizon, static_cast<size_t>(r.end));
  std::vector<int64_t> change(horizon + 1, 0);
  for (const Rectangle &r : rectangles) {
    change[r.start] += r.size;
    change[r.end] -= r.size;
  }
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

std::vector<int> orderedBy(std::span<const Rectangle> rectangles, const std::vector<double> &weights) {
  std::vector<std::tuple<double, int64_t, int>> keys; // next to each other, for the sake of millions
  keys.reserve(rectangles.size());
  for (size_t index = 0; index < rectangles.size(); ++index)
    keys.emplace_back(-weights[index], -rectangles[index].size, static_cast<int>(index));
  std::sort(keys.begin(), keys.end());
  std::vector<int> order;
  order.reserve(keys.size());
  for (const auto &key : keys)
    order.push_back(std::get<2>(key));
  return order;
}

} // namespace accum::planner
