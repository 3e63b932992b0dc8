// SPDX-License-Identifier: Apache-2.0
// Loads over time and their maxima over lifetimes.
#include "compiler/Planner/GreedyWeights.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace accum::planner {

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
    weights.push_back(preference.load == 0 ? weight : weight * std::pow(fullness[index], preference.load));
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
  std::vector<int> order(rectangles.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::tuple(-weights[a], -rectangles[a].size, a) < std::tuple(-weights[b], -rectangles[b].size, b);
  });
  return order;
}

} // namespace accum::planner
