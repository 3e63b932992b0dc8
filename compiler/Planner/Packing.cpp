// SPDX-License-Identifier: Apache-2.0
// The portfolio: cheap passes first, stopped at the lower bound.
#include "compiler/Planner/Packing.h"
#include "compiler/Planner/GreedyPacking.h"
#include <algorithm>
#include <numeric>
#include <tuple>

namespace accum::planner {

namespace {

/// Pair comparisons that one call may spend on quadratic passes: about a second.
constexpr double kPairBudget = 1.2e9;

using Key = double (*)(const Rectangle &);

double length(const Rectangle &r) { return static_cast<double>(r.end) - r.start; }
double bySize(const Rectangle &r) { return static_cast<double>(r.size); }
double byArea(const Rectangle &r) { return length(r) * static_cast<double>(r.size); }
double byStart(const Rectangle &r) { return -static_cast<double>(r.start); }

/// Indices in descending key; ties by size, then by index, so that the order is a function of the input.
std::vector<int> ordered(std::span<const Rectangle> rectangles, Key key) {
  std::vector<int> order(rectangles.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::tuple(-key(rectangles[a]), -rectangles[a].size, a) <
           std::tuple(-key(rectangles[b]), -rectangles[b].size, b);
  });
  return order;
}

} // namespace

int64_t maxLoad(std::span<const Rectangle> rectangles) {
  int horizon = 0;
  for (const Rectangle &r : rectangles)
    horizon = std::max(horizon, r.end);
  std::vector<int64_t> change(horizon + 1, 0);
  for (const Rectangle &r : rectangles) {
    change[r.start] += r.size;
    change[r.end] -= r.size;
  }
  int64_t load = 0, largest = 0;
  for (int64_t delta : change) {
    load += delta;
    largest = std::max(largest, load);
  }
  return largest;
}

Packing pack(std::span<const Rectangle> rectangles) {
  int64_t bound = maxLoad(rectangles);
  Packing best = stackUp(rectangles, ordered(rectangles, length));
  double pairs = 0.5 * static_cast<double>(rectangles.size()) * static_cast<double>(rectangles.size());
  double spent = 0;
  for (Key key : {length, byArea, bySize, byStart}) {
    if (best.height == bound || spent + pairs > kPairBudget)
      break;
    spent += pairs;
    Packing tried = firstFit(rectangles, ordered(rectangles, key));
    if (tried.height < best.height)
      best = std::move(tried);
  }
  return best;
}

} // namespace accum::planner
