// SPDX-License-Identifier: Apache-2.0
// The portfolio: cheap passes first, then exact search, stopped at the lower bound.
#include "compiler/Planner/Packing/Packing.h"
#include "compiler/Planner/Packing/GluedSearch.h"
#include "compiler/Planner/Packing/GreedyPacking.h"
#include "compiler/Planner/Packing/PackingStages.h"
#include "compiler/Planner/Packing/PortfolioParts.h"
#include "compiler/Planner/Packing/ValleyFit.h"
#include "compiler/Planner/Packing/ValleyNoise.h"
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
/// The same where there are too many for exact search: a visit takes longer, and what comes then gains more.
constexpr int64_t kMostOfMany = 80'000'000, kSlowVisit = 4;
/// Effort from which on these follow: with less there is time for the passes only.
constexpr int64_t kMuchEffort = 20'000'000;
constexpr int64_t kVisitsPerPlaced = 150;
/// Effort of the first slice of search, improvement and evictions; each later one has twice as much.
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
constexpr int kRoundsPerStart = 50; ///< improvement starts again from the best weights
constexpr double kGain = 1.5;       ///< in weight, of a rectangle above the lower bound
/// Such a part of the load is not worth a second more of variations, unless it is asked for.
constexpr int64_t kLittle = 1000;
constexpr double kNoise = 0.05; ///< on weights, at most

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
    passes = valleyPasses(isVaried());
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
  bool isVaried() const { return !isSearched() && effort.visits >= kMuchEffort; }
  bool isDone() const {
    return best.height <= std::max(enough, best.lowerBound) || effort.deadline.hasPassed();
  }

  bool isNear() const {
    return isVaried() && effort.enough == 0 && best.height - best.lowerBound <= best.lowerBound / kLittle;
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
  void tryGreedy();
  void improve(int64_t visits);
  void learn(const Packing &tried);
  void vary();
  void search(int64_t visits);
  void searchBetween(int64_t nodes, int64_t low);
  bool keepFound(std::vector<int64_t> &&offsets);
  void glueFew();
  void searchGlued(int64_t visits);
  void evict(int64_t visits);

  std::span<const Rectangle> rectangles;
  const PackingEffort &effort;
  GreedyWeights weights;
  ValleyFit valleys;
  Packing best;
  int64_t enough;
  Stages stages;
  std::vector<double> bestWeights; ///< of the valley pass that did best
  ValleyFit::Closeness bestCloseness = {};
  std::vector<double> bestClock; ///< what its gaps were measured by
  std::vector<ValleyPass> passes;
  size_t nextPass = 0;
  int64_t lowestTried = INT64_MAX;
  // What improvement, search and evictions go on from:
  std::vector<double> learned;
  int64_t lowestLearned = INT64_MAX;
  int64_t learnable = 0, passCost = 0; ///< visits left for improvement; visits of the latest pass
  int round = 0;
  std::optional<ValleySearch> lowest; ///< at the lowest height that may exist
  int64_t grain = 0;                  ///< of all heights
  std::deque<GluedSearch> glued;      ///< at the height `gluedHeight`
  int64_t gluedHeight = -1;
  std::optional<EvictionSearch> eviction;
  int64_t evictedFrom = INT64_MAX; ///< the height of what it goes on from
};

/// The next of the valley passes.
void Portfolio::tryNextPass() {
  const ValleyPass &pass = passes[nextPass++];
  double length = weights.meanLength();
  std::vector<double> clock = pass.room > 0 ? weights.clock(pass.room) : std::vector<double>();
  std::vector<double> tried = weights.of(pass.preference, clock);
  int64_t before = valleys.visited();
  Packing packing = valleys.pack(tried, kGreedyVisits, {pass.scale * length, pass.both, clock});
  passCost = valleys.visited() - before;
  if (packing.height < lowestTried) {
    lowestTried = packing.height;
    bestWeights = std::move(tried);
    bestClock = std::move(clock);
    bestCloseness = {pass.scale * length, pass.both, bestClock};
  }
  keep(std::move(packing));
}

void Portfolio::tryGreedy() {
  int64_t most = std::clamp(2 * effort.visits, kManyPasses, isVaried() ? kMostOfMany : kMostPasses);
  int64_t placing = kVisitsPerPlaced * static_cast<int64_t>(rectangles.size());
  int64_t spent = 0;
  size_t first = rectangles.size() <= kMaxEasy || effort.isQuick ? kQuickPasses : passes.size();
  while (!isDone() && nextPass < first && spent <= most) {
    tryNextPass();
    spent += passCost + placing;
  }
  double pairs = 0.5 * static_cast<double>(rectangles.size()) * static_cast<double>(rectangles.size());
  double compared = 0;
  for (const Preference &preference : kPreferences) {
    if (isDone() || compared + pairs > kPairBudget)
      return;
    compared += pairs;
    keep(firstFit(rectangles, orderedBy(rectangles, weights.of(preference)), effort.deadline));
  }
}

/// Takes the valley passes that are left, then packs again and again with more weight for what ended above
/// the lower bound.
void Portfolio::improve(int64_t visits) {
  learnable += visits;
  while (!isDone() && rectangles.size() <= kMaxEasy && nextPass < passes.size() && passCost <= learnable) {
    tryNextPass();
    learnable -= passCost;
  }
  if (learned.empty())
    learned = bestWeights;
  while (!isDone() && !learned.empty() && passCost <= learnable) {
    int64_t before = valleys.visited();
    Packing tried = valleys.pack(learned, kGreedyVisits, bestCloseness);
    passCost = valleys.visited() - before;
    learnable -= passCost;
    if (tried.height == INT64_MAX)
      return;
    if (tried.height < lowestLearned) {
      lowestLearned = tried.height;
      bestWeights = learned;
    }
    ++round;
    if (isVaried())
      vary();
    else
      learn(tried);
    keep(std::move(tried));
  }
}

/// More weight for what ended above the lower bound, of the latest pass.
void Portfolio::learn(const Packing &tried) {
  if (round % kRoundsPerStart == 0)
    learned = bestWeights;
  for (size_t index = 0; index < rectangles.size(); ++index)
    if (tried.offsets[index] + rectangles[index].size > enough)
      learned[index] *= kGain;
}

/// The best weights with a little noise: of thousands of rectangles it is chance which few end too high, and
/// the heights that come of it differ more than those of any two ways to weigh.
void Portfolio::vary() {
  learned = bestWeights;
  for (size_t index = 0; index < rectangles.size(); ++index) {
    uint64_t number = mix(mix(effort.seed + static_cast<uint64_t>(round)) + index);
    learned[index] *= 1 + kNoise * static_cast<double>(number >> 40) * 0x1p-24;
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
  if (!isSearched() || gluedHeight == height)
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
  if (!isSearched())
    return;
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

/// Lowers the best packing as far as the effort goes.
void Portfolio::evict(int64_t visits) {
  if (rectangles.size() > kMaxEvicted)
    return;
  if (best.height < evictedFrom)
    eviction.emplace(rectangles, best.offsets, std::span<const Restriction>(), effort.deadline);
  lowerByEvictions(*eviction, rectangles, visits, enough, best);
  evictedFrom = best.height;
}

/// Search, improvement and evictions in slices, each twice as long as the one before.
void Portfolio::takeTurns() {
  int64_t visits = effort.visits / (isVaried() ? kSlowVisit : 1);
  int64_t slice = std::max(kFirstSlice, visits / 256);
  for (int64_t spent = 0; spent < visits && !isDone() && !isNear(); spent += slice, slice *= 2) {
    slice = std::min(slice, visits - spent);
    int64_t rest = isSearched() ? slice / 8 : isVaried() ? slice : slice / 2; // than exact search
    if (spent >= kGluedFrom)
      stage("gluing", [&] { glueFew(); });
    int64_t gluing = glued.empty() ? 0 : (slice - rest) / 2;
    stage("exact search of glued", [&] { searchGlued(gluing); });
    stage("exact search", [&] { search(slice - rest - gluing); });
    int64_t evicting = isVaried() ? rest / 4 : rest / 2;
    stage("improvement", [&] { improve(rest - evicting); });
    stage("evictions", [&] { evict(evicting); });
  }
}

} // namespace

Packing pack(std::span<const Rectangle> rectangles, const PackingEffort &effort) {
  return Portfolio(rectangles, effort).run();
}

} // namespace accum::planner
