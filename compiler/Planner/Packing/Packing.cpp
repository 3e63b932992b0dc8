// SPDX-License-Identifier: Apache-2.0
// The portfolio: cheap passes first, then exact search, stopped at the lower bound.
#include "compiler/Planner/Packing/Packing.h"
#include "compiler/Planner/Packing/EvictionSearch.h"
#include "compiler/Planner/Packing/Gluing.h"
#include "compiler/Planner/Packing/GreedyPacking.h"
#include "compiler/Planner/Packing/GreedyWeights.h"
#include "compiler/Planner/Packing/SweepFit.h"
#include "compiler/Planner/Packing/ValleyFit.h"
#include "compiler/Planner/Packing/ValleySearch.h"
#include <algorithm>
#include <chrono>
#include <deque>
#include <numeric>
#include <optional>

namespace accum::planner {

namespace {

/// Rectangles beyond which exact search is not tried, and single moves, which look at all that live together.
constexpr size_t kMaxSearched = 2000, kMaxEvicted = 50'000;
/// Pair comparisons up to which first fit is tried: half a second.
constexpr double kMostPairs = 2.2e8;
/// Visits that valley passes may take, and what placing a rectangle counts for.
constexpr int64_t kFewestVisits = 50'000'000, kMostVisits = 150'000'000, kVisitsPerPlaced = 150;
/// Rectangles up to which a slice of exact search takes no longer than a few valley passes.
constexpr size_t kMaxEasy = 1000;
/// Effort of the first slice of exact search; each later one has twice as much.
constexpr int64_t kFirstSlice = 200'000;
/// What a node of exact search costs, in visits, and how many rectangles add one more.
constexpr int64_t kVisitsPerNode = 64, kRectanglesPerVisit = 8;
constexpr int64_t kFewNodes = 100; ///< that a search between two heights is worth
/// What is glued where exact search alone finds nothing; worth a search where at most such a part is left.
constexpr Gluing::Extent kExtents[] = {{.isCertain = true}, {.least = 150}};
constexpr double kMostLeft = 0.9;
constexpr int64_t kGluedFrom = 2'000'000; ///< visits spent: what is found by then needs no guess
/// Evictions aim at this part of what is above the bound, and at the bound itself from so near to it on.
constexpr double kStride = 0.8, kNear = 0.001;
/// Stacks of nested lifetimes have no gaps.
constexpr Preference kStacked = {1, 0};

/// What a pass places first, and how close to walls (scale in mean lengths).
struct Pass {
  Preference preference;
  double scale = 0, both = 0;
  double room = 0; ///< of the clock that gaps are measured by; 0: time itself
};

/// What did best by kinds of input. The first few are cheap, and all there is time for where few are packed.
constexpr size_t kQuickPasses = 7;
constexpr Preference kFullestFirst = {1, 0, 30, true};
constexpr Pass kPasses[] = {{{1, 0, 30}, 0.01},
                            {kFullestFirst, 0.1, 1, 0.003},
                            {{1, 1}},
                            {{1, 0}},
                            {{0, 1}},
                            {{2, 1}},
                            {{1, 2}},
                            {kFullestFirst, 0.01, 1, 0.003},
                            {kFullestFirst, 0.1, 0.3, 0.003},
                            {kFullestFirst, 0.1, 0.3, 0.01},
                            {kFullestFirst, 0.1, 1, 0.01},
                            {kFullestFirst, 0.1, 0.3, 0.001},
                            {kFullestFirst, 0.1, 1, 0.001},
                            {kFullestFirst, 0.01, 0.3, 0.003},
                            {kFullestFirst, 0.01, 0.3, 0.01},
                            {kFullestFirst, 0.01, 1, 0.01},
                            {kFullestFirst, 0.01, 0.3, 0.001},
                            {kFullestFirst, 0.01, 1, 0.001},
                            {kFullestFirst, 0.03, 0.3, 0.003},
                            {kFullestFirst, 0.03, 1, 0.003},
                            {kFullestFirst, 0.03, 0.3, 0.01},
                            {kFullestFirst, 0.03, 1, 0.01},
                            {kFullestFirst, 0.03, 0.3, 0.001},
                            {kFullestFirst, 0.03, 1, 0.001}};

int64_t nodesOf(int64_t visits, size_t rectangles) {
  return visits / (kVisitsPerNode + static_cast<int64_t>(rectangles) / kRectanglesPerVisit);
}

/// The best packing so far, what is low enough, and what each stage came to.
class Best {
public:
  Best(std::span<const Rectangle> rectangles, int64_t lowerBound, const PackingEffort &effort)
      : rectangles(rectangles), deadline(effort.deadline), wanted(effort.enough) {
    packing.height = INT64_MAX;
    packing.lowerBound = lowerBound;
  }

  int64_t enough() const { return std::max(packing.lowerBound, wanted); }
  bool isDone() const { return packing.height <= enough() || deadline.hasPassed(); }
  /// Whether there is something to gain in order of time. A stack may be of any height: one of twice the load
  /// is worth it even where the time is over.
  bool mayBeSwept() const {
    return rectangles.size() > kMaxSearched && packing.height > enough() &&
           (!deadline.hasPassed() || packing.height / 2 > packing.lowerBound);
  }
  void keep(Packing &&tried) {
    if (tried.height >= packing.height)
      return;
    packing.offsets = std::move(tried.offsets);
    packing.height = tried.height;
  }
  void keep(std::vector<int64_t> offsets) {
    Packing found{std::move(offsets)};
    for (size_t index = 0; index < rectangles.size(); ++index)
      found.height = std::max(found.height, found.offsets[index] + rectangles[index].size);
    keep(std::move(found));
  }
  /// A stage may come back: its times add up.
  template <class Run> void stage(const char *name, bool isWorthIt, Run run) {
    if (!isWorthIt)
      return;
    auto begin = std::chrono::steady_clock::now();
    run();
    auto known = std::ranges::find(packing.stages, name, &PackingStage::name);
    if (known == packing.stages.end())
      known = packing.stages.insert(known, {name, 0, 0});
    known->height = packing.height;
    known->seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  Packing packing;

private:
  std::span<const Rectangle> rectangles;
  Deadline deadline;
  int64_t wanted;
};

/// One call of `pack`.
class Portfolio {
public:
  Portfolio(std::span<const Rectangle> rectangles, const PackingEffort &effort)
      : rectangles(rectangles), effort(effort), weights(rectangles),
        best(rectangles, maxLoad(rectangles), effort) {
    for (const Rectangle &r : rectangles)
      grain = std::gcd(grain, r.size);
  }

  Packing run() {
    best.stage("stack", true,
               [&] { best.keep(stackUp(rectangles, orderedBy(rectangles, weights.of(kStacked)))); });
    best.stage("order of time", best.mayBeSwept(), [&] { best.keep(sweepFit(rectangles)); });
    best.stage("valley fit", !best.isDone(), [&] { fillValleys(); });
    if (!effort.isQuick && rectangles.size() <= kMaxSearched)
      searchInSlices();
    return std::move(best.packing);
  }

private:
  void fillValleys();
  void searchInSlices();
  void search(int64_t visits);
  void searchBetween(int64_t nodes, int64_t low);
  void glue();
  void searchGlued(int64_t visits);

  std::span<const Rectangle> rectangles;
  const PackingEffort &effort;
  GreedyWeights weights;
  Best best;
  int64_t grain = 0;                  ///< of all heights
  std::optional<ValleySearch> lowest; ///< at the lowest height that may exist
  std::deque<GluedSearch> glued;      ///< at the height `gluedHeight`
  int64_t gluedHeight = -1;
};

void Portfolio::fillValleys() {
  ValleyFit valleys(rectangles, effort.deadline);
  int64_t most = std::clamp(2 * effort.visits, kFewestVisits, kMostVisits);
  int64_t placing = kVisitsPerPlaced * static_cast<int64_t>(rectangles.size());
  std::span<const Pass> passes(kPasses);
  if (rectangles.size() <= kMaxEasy || effort.isQuick)
    passes = passes.first(kQuickPasses);
  int64_t placed = 0;
  for (const Pass &pass : passes) {
    if (best.isDone() || valleys.visited() + placed > most)
      return;
    std::vector<double> clock = pass.room > 0 ? weights.clock(pass.room) : std::vector<double>();
    best.keep(valleys.pack(weights.of(pass.preference, clock), most,
                           {pass.scale * weights.meanLength(), pass.both, clock}));
    placed += placing;
  }
}

/// What is glued for the height that is searched, each way that leaves fewer than those before.
void Portfolio::glue() {
  if (gluedHeight == best.enough())
    return;
  gluedHeight = best.enough();
  glued.clear();
  auto least = static_cast<double>(rectangles.size());
  for (const Gluing::Extent &extent : kExtents) {
    glued.emplace_back(rectangles, extent, gluedHeight, effort.seed, effort.deadline);
    auto left = static_cast<double>(glued.back().pieces());
    if (left > kMostLeft * least)
      glued.pop_back();
    else
      least = left;
  }
}

/// Exact search of what is left of each, in equal parts.
void Portfolio::searchGlued(int64_t visits) {
  visits /= static_cast<int64_t>(glued.size());
  for (auto search = glued.begin(); search != glued.end() && !best.isDone();) {
    ValleySearch::Outcome outcome = search->run(nodesOf(visits, search->pieces()) + 1);
    if (outcome == ValleySearch::Outcome::Found)
      best.keep(search->offsets());
    search = outcome == ValleySearch::Outcome::Impossible ? glued.erase(search) : std::next(search);
  }
}

/// Searches for a packing of the lowest height that may exist, then of heights between it and the best, which
/// are of no use where a height was given.
void Portfolio::search(int64_t visits) {
  int64_t nodes = nodesOf(visits, rectangles.size()), height = best.enough();
  if (!lowest)
    lowest.emplace(rectangles, height, effort.seed, effort.deadline);
  int64_t before = lowest->visited(), above = (height / grain + 1) * grain;
  ValleySearch::Outcome outcome = lowest->run(effort.enough > 0 ? nodes + 1 : nodes / 2 + 1);
  nodes -= lowest->visited() - before;
  if (outcome == ValleySearch::Outcome::Found)
    best.keep(lowest->offsets);
  if (outcome == ValleySearch::Outcome::Impossible) {
    best.packing.lowerBound = above;
    lowest.reset();
  }
  searchBetween(nodes, above);
}

/// By halves between what is proved impossible (or was not found) and the best so far.
void Portfolio::searchBetween(int64_t nodes, int64_t low) {
  while (low < best.packing.height && nodes > kFewNodes && !best.isDone()) {
    int64_t target = low + (best.packing.height - low) / 2 / grain * grain;
    ValleySearch search(rectangles, target, effort.seed, effort.deadline);
    ValleySearch::Outcome outcome = search.run(nodes / 2 + 1);
    nodes -= search.visited();
    if (outcome == ValleySearch::Outcome::Found) {
      best.keep(search.offsets);
      continue;
    }
    low = (target / grain + 1) * grain;
    if (outcome == ValleySearch::Outcome::Impossible) {
      best.packing.lowerBound = std::max(best.packing.lowerBound, low);
      lowest.reset();
    }
  }
}

/// In slices, each twice as long as the one before.
void Portfolio::searchInSlices() {
  int64_t slice = std::max(kFirstSlice, effort.visits / 256);
  for (int64_t spent = 0; spent < effort.visits && !best.isDone(); spent += slice, slice *= 2) {
    slice = std::min(slice, effort.visits - spent);
    best.stage("gluing", spent >= kGluedFrom, [&] { glue(); });
    int64_t gluing = glued.empty() ? 0 : slice / 2;
    best.stage("exact search of glued", gluing > 0 && !best.isDone(), [&] { searchGlued(gluing); });
    best.stage("exact search", !best.isDone(), [&] { search(slice - gluing); });
  }
}

/// Step by step, as long as each step is found within what is left of the effort.
void lowerByEvictions(EvictionSearch &eviction, int64_t visits, Best &best) {
  while (!best.isDone() && eviction.visited() < visits) {
    auto above = static_cast<double>(best.packing.height - best.enough());
    bool isNear = above < kNear * static_cast<double>(best.enough());
    int64_t target = best.enough() + (isNear ? 0 : static_cast<int64_t>(kStride * above));
    if (!eviction.run(target, visits - eviction.visited()))
      return;
    best.keep(eviction.offsets());
  }
}

} // namespace

Packing pack(std::span<const Rectangle> rectangles, const PackingEffort &effort) {
  return Portfolio(rectangles, effort).run();
}

Packing packRestricted(std::span<const Rectangle> rectangles, std::span<const Restriction> restrictions,
                       const PackingEffort &effort) {
  int64_t lowerBound = maxLoad(rectangles);
  for (size_t index = 0; index < rectangles.size(); ++index)
    lowerBound = std::max(lowerBound, rectangles[index].size + restrictions[index].offset);
  Best best(rectangles, lowerBound, effort);
  GreedyWeights weights(rectangles);
  auto orderBy = [&](const Preference &preference) { return orderedBy(rectangles, weights.of(preference)); };
  best.stage("stack", true, [&] { best.keep(stackUp(rectangles, orderBy(kStacked), restrictions)); });
  best.stage("order of time", best.mayBeSwept(), [&] { best.keep(sweepFit(rectangles, restrictions)); });
  auto count = static_cast<double>(rectangles.size());
  best.stage("first fit", !best.isDone() && 0.5 * count * count <= kMostPairs,
             [&] { best.keep(firstFit(rectangles, orderBy({1, 1}), effort.deadline, restrictions)); });
  best.stage("evictions", !best.isDone() && rectangles.size() <= kMaxEvicted, [&] {
    EvictionSearch eviction(rectangles, best.packing.offsets, restrictions, effort.deadline);
    lowerByEvictions(eviction, effort.visits, best);
  });
  return std::move(best.packing);
}

} // namespace accum::planner
