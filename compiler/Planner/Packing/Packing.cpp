// SPDX-License-Identifier: Apache-2.0
// The portfolio: cheap passes first, then exact search, stopped at the lower bound.
#include "compiler/Planner/Packing/Packing.h"
#include "compiler/Planner/Packing/GluedSearch.h"
#include "compiler/Planner/Packing/GreedyPacking.h"
#include "compiler/Planner/Packing/PackingStages.h"
#include "compiler/Planner/Packing/PortfolioParts.h"
#include "compiler/Planner/Packing/ValleyFit.h"
#include "compiler/Planner/Packing/ValleyPasses.h"
#include "compiler/Planner/Packing/ValleySearch.h"
#include <algorithm>
#include <deque>
#include <numeric>
#include <optional>

namespace accum::planner {

namespace {

/// Pair comparisons that one call may spend on first-fit passes: a quarter of a second.
constexpr double kPairBudget = 1e8;
/// Visits that valley passes may take, whatever the effort: half a second, where all live long. Many passes
/// may take more where the effort is large; a rectangle costs a pass about as much as so many visits.
constexpr int64_t kGreedyVisits = 150'000'000, kManyPasses = 50'000'000, kMostPasses = 150'000'000;
constexpr int64_t kVisitsPerPlaced = 150;
/// Effort of the first slice of search; each later one has twice as much.
constexpr int64_t kFirstSlice = 250'000;
/// What a node of exact search costs, in visits, and how many rectangles add one more.
constexpr int64_t kVisitsPerNode = 64, kRectanglesPerVisit = 8;
constexpr int64_t kFewNodes = 100; ///< that a search between two heights is worth
/// What is glued where exact search alone finds nothing; worth a search where at most such a part is left.
constexpr Gluing::Extent kExtents[] = {{.isCertain = true}, {.least = 150}};
constexpr double kMostLeft = 0.9;
constexpr int64_t kGluedFrom = 2'000'000; ///< visits spent: what is found by then needs no guess
/// Rectangles up to which a slice of exact search takes no longer than a few valley passes, and comes first.
constexpr size_t kMaxEasy = 1000;

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
    passes = valleyPasses();
  }

  Packing run() {
    keep(stackUp(rectangles, orderedBy(rectangles, weights.of(kStacked))));
    stages.add("stack", best);
    stage("valley and first fit", [&] { tryGreedy(); });
    if (!effort.isQuick)
      takeTurns();
    best.stages = std::move(stages.list);
    return std::move(best);
  }

private:
  bool isSearched() const { return rectangles.size() <= kMaxSearched; }
  bool isDone() const {
    return best.height <= std::max(enough, best.lowerBound) || effort.deadline.hasPassed();
  }

  template <class Run> void stage(const char *name, Run run) {
    if (isDone())
      return;
    run();
    stages.add(name, best);
  }

  bool keep(Packing &&tried) {
    if (tried.height >= best.height)
      return false;
    best.offsets = std::move(tried.offsets);
    best.height = tried.height;
    return true;
  }

  void takeTurns();
  void tryNextPass();
  void takePasses(size_t last);
  void tryGreedy();
  void search(int64_t visits);
  void searchBetween(int64_t nodes, int64_t low);
  bool keepFound(std::vector<int64_t> &&offsets);
  void glueFew();
  void searchGlued(int64_t visits);

  std::span<const Rectangle> rectangles;
  const PackingEffort &effort;
  GreedyWeights weights;
  ValleyFit valleys;
  Packing best;
  int64_t enough;
  Stages stages;
  std::vector<ValleyPass> passes;
  size_t nextPass = 0;
  // What search goes on from:
  std::optional<ValleySearch> lowest; ///< at the lowest height that may exist
  int64_t grain = 0;                  ///< of all heights
  std::deque<GluedSearch> glued;      ///< at the height `gluedHeight`
  int64_t gluedHeight = -1;
};

/// The next of the valley passes.
void Portfolio::tryNextPass() {
  const ValleyPass &pass = passes[nextPass++];
  double length = weights.meanLength();
  keep(valleys.pack(weights.of(pass.preference), kGreedyVisits, {pass.scale * length, pass.both}));
}

/// Valley passes up to the `last` one, as far as their effort goes.
void Portfolio::takePasses(size_t last) {
  int64_t most = std::clamp(2 * effort.visits, kManyPasses, kMostPasses);
  int64_t placing = kVisitsPerPlaced * static_cast<int64_t>(rectangles.size());
  while (!isDone() && nextPass < last && valleys.visited() + static_cast<int64_t>(nextPass) * placing <= most)
    tryNextPass();
}

void Portfolio::tryGreedy() {
  takePasses(rectangles.size() <= kMaxEasy || effort.isQuick ? kQuickPasses : passes.size());
  double pairs = 0.5 * static_cast<double>(rectangles.size()) * static_cast<double>(rectangles.size());
  double compared = 0;
  for (const Preference &preference : kPreferences) {
    if (isDone() || compared + pairs > kPairBudget)
      return;
    compared += pairs;
    keep(firstFit(rectangles, orderedBy(rectangles, weights.of(preference)), effort.deadline));
  }
}

bool Portfolio::keepFound(std::vector<int64_t> &&offsets) {
  Packing found{std::move(offsets)};
  for (size_t index = 0; index < rectangles.size(); ++index)
    found.height = std::max(found.height, found.offsets[index] + rectangles[index].size);
  return keep(std::move(found));
}

/// What is glued for the height that is searched, each way that leaves fewer than those before.
void Portfolio::glueFew() {
  int64_t height = std::max(enough, best.lowerBound);
  if (gluedHeight == height)
    return;
  gluedHeight = height;
  glued.clear();
  auto least = static_cast<double>(rectangles.size());
  for (const Gluing::Extent &extent : kExtents) {
    glued.emplace_back(rectangles, extent, height, effort.seed, effort.deadline);
    auto left = static_cast<double>(glued.back().pieces());
    if (left > kMostLeft * least)
      glued.pop_back();
    else
      least = left;
  }
}

/// Exact search of what is left of each, in equal parts.
void Portfolio::searchGlued(int64_t visits) {
  if (glued.empty())
    return;
  visits /= static_cast<int64_t>(glued.size());
  for (auto search = glued.begin(); search != glued.end() && !isDone();) {
    ValleySearch::Outcome outcome = search->run(nodesOf(visits, search->pieces()) + 1);
    if (outcome == ValleySearch::Outcome::Found)
      keepFound(search->offsets());
    search = outcome == ValleySearch::Outcome::Impossible ? glued.erase(search) : std::next(search);
  }
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

/// Exact search, of the rectangles and of what is left of them when some are glued, in slices, each twice as
/// long as the one before.
void Portfolio::takeTurns() {
  int64_t slice = std::max(kFirstSlice, effort.visits / 256);
  for (int64_t spent = 0; isSearched() && spent < effort.visits && !isDone(); spent += slice, slice *= 2) {
    slice = std::min(slice, effort.visits - spent);
    if (spent >= kGluedFrom)
      stage("gluing", [&] { glueFew(); });
    int64_t gluing = glued.empty() ? 0 : slice / 2;
    stage("exact search of glued", [&] { searchGlued(gluing); });
    stage("exact search", [&] { search((slice - gluing) / 8 * 7); });
    stage("valley fit", [&] { takePasses(passes.size()); });
  }
}

} // namespace

Packing pack(std::span<const Rectangle> rectangles, const PackingEffort &effort) {
  return Portfolio(rectangles, effort).run();
}

} // namespace accum::planner
