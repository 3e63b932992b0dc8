// SPDX-License-Identifier: Apache-2.0
// The portfolio: cheap passes first, then exact search, stopped at the lower bound.
#include "compiler/Planner/Packing/Packing.h"
#include "compiler/Planner/Packing/GreedyPacking.h"
#include "compiler/Planner/Packing/ValleyFit.h"
#include "compiler/Planner/Packing/ValleySearch.h"
#include <algorithm>
#include <numeric>
#include <optional>

namespace accum::planner {

void StageTimer::add(const char *name, Packing &best) {
  auto now = std::chrono::steady_clock::now();
  auto known = std::ranges::find(best.stages, name, &PackingStage::name);
  if (known == best.stages.end())
    known = best.stages.insert(known, {name, best.height, 0});
  known->height = best.height;
  known->seconds += std::chrono::duration<double>(now - last).count();
  last = now;
}

namespace {

/// Rectangles beyond which the exact search is not tried.
constexpr size_t kMaxSearched = 2000;
/// Pair comparisons that one call may spend on first-fit passes: a quarter of a second.
constexpr double kPairBudget = 1e8;
/// Visits of one valley pass, half a second where all live long, and of all passes, with little effort and
/// with much. A rectangle costs a pass about as much as so many visits.
constexpr int64_t kGreedyVisits = 150'000'000, kManyPasses = 50'000'000, kMostPasses = 150'000'000;
constexpr int64_t kVisitsPerPlaced = 150;
/// Effort of the first slice of search; each later one has twice as much.
constexpr int64_t kFirstSlice = 250'000;
/// What a node of exact search costs, in visits, and how many rectangles add one more.
constexpr int64_t kVisitsPerNode = 64, kRectanglesPerVisit = 8;
constexpr int64_t kFewNodes = 100; ///< that a search between two heights is worth
/// Rectangles up to which a slice of exact search takes no longer than a few valley passes, and comes first.
constexpr size_t kMaxEasy = 1000;

/// A valley pass: what it places first, and how close to walls (scale in mean lengths).
struct ValleyPass {
  Preference preference;
  double scale = 0, both = 0;
};
/// What does best where thousands live together comes first: there a pass takes long.
constexpr ValleyPass kFirstPasses[] = {{{1, 0, 30}, 0.01}, {{1, 1}}, {{1, 0}}, {{0, 1}}, {{2, 1}}, {{1, 2}}};

/// Those, then fullest moments first in all degrees: where a pass is cheap, one of many does best.
std::vector<ValleyPass> valleyPasses() {
  std::vector<ValleyPass> passes(std::begin(kFirstPasses), std::end(kFirstPasses));
  for (double both : {0.1, 0.0, 1.0})
    for (double load : {100.0, 30.0, 10.0})
      for (double scale : {0.1, 0.3, 1.0})
        passes.push_back({{1, 0, load}, scale, both});
  return passes;
}

int64_t nodesOf(int64_t visits, size_t rectangles) {
  return visits / (kVisitsPerNode + static_cast<int64_t>(rectangles) / kRectanglesPerVisit);
}

/// One call of `pack`: the best packing so far, and how it gets better.
class Portfolio {
public:
  Portfolio(std::span<const Rectangle> rectangles, const PackingEffort &effort)
      : rectangles(rectangles), effort(effort), weights(rectangles), valleys(rectangles, effort.deadline) {
    best.lowerBound = maxLoad(rectangles);
    best.height = INT64_MAX;
    enough = std::max(best.lowerBound, effort.enough);
  }

  Packing run() {
    keep(stackUp(rectangles, weights.order(kStacked)));
    timer.add("stack", best);
    stage("valley and first fit", [&] { tryGreedy(); });
    if (rectangles.size() <= kMaxSearched)
      takeTurns();
    return std::move(best);
  }

private:
  bool isDone() const {
    return best.height <= std::max(enough, best.lowerBound) || effort.deadline.hasPassed();
  }

  template <class Run> void stage(const char *name, Run run) {
    if (isDone())
      return;
    run();
    timer.add(name, best);
  }

  void keep(Packing &&tried) {
    if (tried.height >= best.height)
      return;
    best.offsets = std::move(tried.offsets);
    best.height = tried.height;
  }

  void takePasses(size_t last);
  void tryGreedy();
  void takeTurns();
  void search(int64_t visits);
  void searchBetween(int64_t nodes, int64_t low);
  void keepFound(std::vector<int64_t> &&offsets);

  std::span<const Rectangle> rectangles;
  const PackingEffort &effort;
  GreedyWeights weights;
  ValleyFit valleys;
  Packing best;
  int64_t enough;
  StageTimer timer;
  std::vector<ValleyPass> passes = valleyPasses();
  size_t nextPass = 0;
  // What search goes on from:
  std::optional<ValleySearch> lowest; ///< at the lowest height that may exist
  int64_t grain = 0;                  ///< of all heights
};

/// Valley passes up to the `last` one, as far as their effort goes.
void Portfolio::takePasses(size_t last) {
  int64_t most = std::clamp(2 * effort.visits, kManyPasses, kMostPasses);
  int64_t placing = kVisitsPerPlaced * static_cast<int64_t>(rectangles.size());
  double length = weights.meanLength();
  for (; !isDone() && nextPass < last; ++nextPass) {
    if (valleys.visited() + static_cast<int64_t>(nextPass) * placing > most)
      return;
    const ValleyPass &pass = passes[nextPass];
    keep(valleys.pack(weights.of(pass.preference), kGreedyVisits, {pass.scale * length, pass.both}));
  }
}

void Portfolio::tryGreedy() {
  takePasses(rectangles.size() <= kMaxEasy ? std::size(kFirstPasses) : passes.size());
  double pairs = 0.5 * static_cast<double>(rectangles.size()) * static_cast<double>(rectangles.size());
  double compared = 0;
  for (const Preference &preference : kPreferences) {
    if (isDone() || compared + pairs > kPairBudget)
      return;
    compared += pairs;
    keep(firstFit(rectangles, weights.order(preference), effort.deadline));
  }
}

void Portfolio::keepFound(std::vector<int64_t> &&offsets) {
  Packing found{std::move(offsets)};
  for (size_t index = 0; index < rectangles.size(); ++index)
    found.height = std::max(found.height, found.offsets[index] + rectangles[index].size);
  keep(std::move(found));
}

/// Searches for a packing of the lowest height that may exist, then of heights between it and the best, which
/// are of no use where a height was given.
void Portfolio::search(int64_t visits) {
  if (grain == 0)
    for (const Rectangle &r : rectangles)
      grain = std::gcd(grain, r.size);
  int64_t nodes = nodesOf(visits, rectangles.size());
  int64_t height = std::max(enough, best.lowerBound);
  if (!lowest)
    lowest.emplace(rectangles, height, effort.seed, effort.deadline);
  int64_t before = lowest->visited();
  ValleySearch::Outcome outcome = lowest->run(effort.enough > 0 ? nodes + 1 : nodes / 2 + 1);
  nodes -= lowest->visited() - before;
  if (outcome == ValleySearch::Outcome::Found)
    keepFound(std::vector(lowest->offsets));
  if (outcome == ValleySearch::Outcome::Impossible) {
    best.lowerBound = (height / grain + 1) * grain;
    lowest.reset();
  }
  searchBetween(nodes, best.lowerBound > height ? best.lowerBound : (height / grain + 1) * grain);
}

/// By halves between what is proved impossible (or was not found) and the best so far.
void Portfolio::searchBetween(int64_t nodes, int64_t low) {
  while (low < best.height && nodes > kFewNodes && !isDone()) {
    int64_t target = low + (best.height - low) / 2 / grain * grain;
    ValleySearch search(rectangles, target, effort.seed, effort.deadline);
    ValleySearch::Outcome outcome = search.run(nodes / 2 + 1);
    nodes -= search.visited();
    if (outcome == ValleySearch::Outcome::Found) {
      keepFound(std::vector(search.offsets));
      continue;
    }
    low = (target / grain + 1) * grain;
    if (outcome == ValleySearch::Outcome::Impossible) {
      best.lowerBound = std::max(best.lowerBound, low);
      lowest.reset();
    }
  }
}

/// Exact search in slices, each twice as long as the one before; and the valley passes that are left, after
/// the first of them.
void Portfolio::takeTurns() {
  int64_t slice = std::max(kFirstSlice, effort.visits / 256);
  for (int64_t spent = 0; spent < effort.visits && !isDone(); spent += slice, slice *= 2) {
    slice = std::min(slice, effort.visits - spent);
    stage("exact search", [&] { search(slice / 8 * 7); });
    stage("valley fit", [&] { takePasses(passes.size()); });
  }
}

} // namespace

Packing pack(std::span<const Rectangle> rectangles, const PackingEffort &effort) {
  return Portfolio(rectangles, effort).run();
}

} // namespace accum::planner
