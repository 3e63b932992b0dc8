// SPDX-License-Identifier: Apache-2.0
// The portfolio: cheap passes first, then exact search, stopped at the lower bound.
#include "compiler/Planner/Packing.h"
#include "compiler/Planner/GreedyPacking.h"
#include "compiler/Planner/ValleySearch.h"
#include <algorithm>
#include <numeric>
#include <tuple>

namespace accum::planner {

namespace {

/// Pair comparisons that one call may spend on quadratic passes: about a second.
constexpr double kPairBudget = 1.2e9;
/// Rectangles beyond which the exact search is not tried.
constexpr size_t kMaxSearched = 2000;

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

void tryGreedy(std::span<const Rectangle> rectangles, int64_t enough, Packing &best) {
  best = stackUp(rectangles, ordered(rectangles, length));
  double pairs = 0.5 * static_cast<double>(rectangles.size()) * static_cast<double>(rectangles.size());
  double spent = 0;
  for (Key key : {length, byArea, bySize, byStart}) {
    if (best.height <= enough || spent + pairs > kPairBudget)
      return;
    spent += pairs;
    Packing tried = firstFit(rectangles, ordered(rectangles, key));
    if (tried.height < best.height)
      best = std::move(tried);
  }
}

/// Searches for packings of given heights: first the lowest that may exist, then by halves between what is
/// proved impossible (or was not found) and the best so far.
void trySearch(std::span<const Rectangle> rectangles, const PackingEffort &effort, Packing &best) {
  if (rectangles.size() > kMaxSearched)
    return;
  int64_t grain = 0;
  for (const Rectangle &r : rectangles)
    grain = std::gcd(grain, r.size);
  int64_t nodes = effort.visits / static_cast<int64_t>(rectangles.size());
  int64_t low = std::max(best.lowerBound, effort.enough), target = low; // heights from `low` on may exist
  for (; low < best.height && nodes > 0; target = low + (best.height - low) / 2 / grain * grain) {
    ValleySearch search(rectangles, target);
    ValleySearch::Outcome outcome = search.run(nodes / 2 + 1);
    nodes -= search.visited();
    if (outcome == ValleySearch::Outcome::Found) {
      best.offsets = std::move(search.offsets);
      best.height = 0;
      for (size_t index = 0; index < rectangles.size(); ++index)
        best.height = std::max(best.height, best.offsets[index] + rectangles[index].size);
      continue;
    }
    low = (target / grain + 1) * grain;
    if (outcome == ValleySearch::Outcome::Impossible)
      best.lowerBound = std::max(best.lowerBound, low);
  }
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

Packing pack(std::span<const Rectangle> rectangles, const PackingEffort &effort) {
  int64_t bound = maxLoad(rectangles), enough = std::max(bound, effort.enough);
  Packing best;
  tryGreedy(rectangles, enough, best);
  best.lowerBound = bound;
  if (best.height > enough)
    trySearch(rectangles, effort, best);
  return best;
}

} // namespace accum::planner
