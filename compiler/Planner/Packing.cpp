// SPDX-License-Identifier: Apache-2.0
// The portfolio: cheap passes first, then exact search, stopped at the lower bound.
#include "compiler/Planner/Packing.h"
#include "compiler/Planner/EvictionSearch.h"
#include "compiler/Planner/GreedyPacking.h"
#include "compiler/Planner/GreedyWeights.h"
#include "compiler/Planner/ValleyFit.h"
#include "compiler/Planner/ValleySearch.h"
#include <algorithm>
#include <numeric>

namespace accum::planner {

namespace {

/// Pair comparisons that one call may spend on first-fit passes: a quarter of a second, where valley passes
/// do most of the work, and half a second where they cannot.
constexpr double kPairBudget = 1e8, kRestrictedPairs = 2.2e8;
/// Visits that valley passes may take, whatever the effort: half a second, where all live long.
constexpr int64_t kGreedyVisits = 150'000'000, kManyPasses = 50'000'000;
/// Rectangles beyond which the exact search is not tried.
constexpr size_t kMaxSearched = 2000;
/// Rectangles beyond which single moves are not tried: one looks at all that live at the same time.
constexpr size_t kMaxEvicted = 50'000;
/// Improvement starts again from the best weights after so many rounds.
constexpr int kRoundsPerStart = 50;
/// Evictions aim at this part of what the best packing is above the bound, and at the bound itself from so
/// near to it on.
constexpr double kStride = 0.8, kNear = 0.001;
/// What a rectangle above the lower bound gains in weight.
constexpr double kGain = 1.5;

/// What first fit places first.
constexpr Preference kPreferences[] = {{1, 1}, {1, 0}, {0, 1}, {2, 1}, {1, 2}};
/// Stacks of nested lifetimes have no gaps.
constexpr Preference kStacked = {1, 0};

/// A valley pass: what it places first, and how close to walls (scale in mean lengths).
struct ValleyPass {
  Preference preference;
  ValleyFit::Closeness closeness = {};
};
/// What does best where thousands live together comes first: there a pass takes long.
constexpr ValleyPass kFirstPasses[] = {
    {{1, 0, 30}, {0.01, 0}}, {{1, 0, 30}, {1, 0.1}}, {{1, 1}}, {{1, 0}}, {{0, 1}}, {{2, 1}}, {{1, 2}}};

/// Those, then fullest moments first in all degrees: where a pass is cheap, one of many does best.
std::vector<ValleyPass> valleyPasses() {
  std::vector<ValleyPass> passes(std::begin(kFirstPasses), std::end(kFirstPasses));
  for (double both : {0.1, 0.0, 1.0})
    for (double load : {100.0, 30.0, 10.0})
      for (double scale : {0.1, 0.3, 1.0, 0.03, 3.0})
        passes.push_back({{1, 0, load}, {scale, both}});
  return passes;
}

/// What each stage came to, and how long it took.
class Stages {
public:
  void add(const char *name, const Packing &best) {
    auto now = std::chrono::steady_clock::now();
    list.push_back({name, best.height, std::chrono::duration<double>(now - last).count()});
    last = now;
  }
  std::vector<PackingStage> list = {};

private:
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

/// Lowers a packing step by step, as long as each step is found within what is left of the effort.
void lower(EvictionSearch &eviction, std::span<const Rectangle> rectangles, int64_t visits, int64_t enough,
           Packing &best) {
  while (best.height > enough && eviction.visited() < visits) {
    auto above = static_cast<double>(best.height - enough);
    bool isNear = above < kNear * static_cast<double>(enough);
    int64_t target = enough + (isNear ? 0 : static_cast<int64_t>(kStride * above));
    if (!eviction.run(target, visits - eviction.visited()))
      return;
    best.offsets = eviction.offsets();
    best.height = 0;
    for (size_t index = 0; index < rectangles.size(); ++index)
      best.height = std::max(best.height, best.offsets[index] + rectangles[index].size);
  }
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
    keep(stackUp(rectangles, orderedBy(rectangles, weights.of(kStacked))));
    stages.add("stack", best);
    stage("valley and first fit", &Portfolio::tryGreedy);
    stage("exact search", &Portfolio::search);
    stage("improvement", &Portfolio::improve);
    stage("evictions", &Portfolio::evict);
    best.stages = std::move(stages.list);
    return std::move(best);
  }

private:
  bool isDone() const {
    return best.height <= std::max(enough, best.lowerBound) || effort.deadline.hasPassed();
  }

  void stage(const char *name, void (Portfolio::*run)()) {
    if (isDone())
      return;
    (this->*run)();
    stages.add(name, best);
  }

  bool keep(Packing &&tried) {
    if (tried.height >= best.height)
      return false;
    best.offsets = std::move(tried.offsets);
    best.height = tried.height;
    return true;
  }

  void tryGreedy();
  void improve();
  void search();
  void evict();

  std::span<const Rectangle> rectangles;
  const PackingEffort &effort;
  GreedyWeights weights;
  ValleyFit valleys;
  Packing best;
  int64_t enough;
  Stages stages;
  std::vector<double> bestWeights; ///< of the valley pass that did best
  ValleyFit::Closeness bestCloseness = {};
};

void Portfolio::tryGreedy() {
  int64_t lowest = INT64_MAX;
  double length = weights.meanLength();
  for (const ValleyPass &pass : valleyPasses()) {
    if (isDone() || valleys.visited() > kManyPasses)
      break;
    std::vector<double> tried = weights.of(pass.preference);
    ValleyFit::Closeness closeness = {pass.closeness.scale * length, pass.closeness.both};
    Packing packing = valleys.pack(tried, kGreedyVisits - valleys.visited(), closeness);
    if (packing.height < lowest) {
      lowest = packing.height;
      bestWeights = std::move(tried);
      bestCloseness = closeness;
    }
    keep(std::move(packing));
  }
  double pairs = 0.5 * static_cast<double>(rectangles.size()) * static_cast<double>(rectangles.size());
  double spent = 0;
  for (const Preference &preference : kPreferences) {
    if (isDone() || spent + pairs > kPairBudget)
      return;
    spent += pairs;
    keep(firstFit(rectangles, orderedBy(rectangles, weights.of(preference)), effort.deadline));
  }
}

/// Packs again and again with more weight for what ended above the lower bound.
void Portfolio::improve() {
  int64_t end = valleys.visited() + effort.visits / 4;
  std::vector<double> learned = bestWeights;
  int64_t lowest = INT64_MAX;
  for (int round = 1; !isDone() && !learned.empty() && valleys.visited() < end; ++round) {
    Packing tried = valleys.pack(learned, end - valleys.visited(), bestCloseness);
    if (tried.height < lowest) {
      lowest = tried.height;
      bestWeights = learned;
    }
    if (round % kRoundsPerStart == 0)
      learned = bestWeights;
    for (size_t index = 0; index < rectangles.size(); ++index)
      if (tried.offsets[index] + rectangles[index].size > enough)
        learned[index] *= kGain;
    keep(std::move(tried));
  }
}

/// Searches for packings of given heights: first the lowest that may exist, then by halves between what is
/// proved impossible (or was not found) and the best so far.
void Portfolio::search() {
  if (rectangles.size() > kMaxSearched)
    return;
  int64_t grain = 0;
  for (const Rectangle &r : rectangles)
    grain = std::gcd(grain, r.size);
  int64_t nodes = effort.visits / 2 / static_cast<int64_t>(rectangles.size());
  int64_t low = enough, target = low; // heights from `low` on may exist
  for (; low < best.height && nodes > 0 && !isDone();
       target = low + (best.height - low) / 2 / grain * grain) {
    ValleySearch search(rectangles, target, effort.seed, effort.deadline);
    ValleySearch::Outcome outcome = search.run(nodes / 2 + 1);
    nodes -= search.visited();
    if (outcome == ValleySearch::Outcome::Found) {
      Packing found{std::move(search.offsets)};
      for (size_t index = 0; index < rectangles.size(); ++index)
        found.height = std::max(found.height, found.offsets[index] + rectangles[index].size);
      keep(std::move(found));
      continue;
    }
    low = (target / grain + 1) * grain;
    if (outcome == ValleySearch::Outcome::Impossible)
      best.lowerBound = std::max(best.lowerBound, low);
  }
}

/// Lowers the best packing as far as the effort goes.
void Portfolio::evict() {
  if (rectangles.size() > kMaxEvicted)
    return;
  EvictionSearch eviction(rectangles, best.offsets, {}, effort.deadline);
  lower(eviction, rectangles, effort.visits / 4, enough, best);
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
  return Portfolio(rectangles, effort).run();
}

Packing packRestricted(std::span<const Rectangle> rectangles, std::span<const Restriction> restrictions,
                       const PackingEffort &effort) {
  Stages stages;
  GreedyWeights weights(rectangles);
  auto orderBy = [&](const Preference &preference) { return orderedBy(rectangles, weights.of(preference)); };
  Packing best = stackUp(rectangles, orderBy(kStacked), restrictions);
  best.lowerBound = maxLoad(rectangles);
  for (size_t index = 0; index < rectangles.size(); ++index)
    best.lowerBound = std::max(best.lowerBound, rectangles[index].size + restrictions[index].offset);
  int64_t enough = std::max(best.lowerBound, effort.enough);
  auto isDone = [&] { return best.height <= enough || effort.deadline.hasPassed(); };
  auto keep = [&](Packing &&tried) {
    if (tried.height >= best.height)
      return;
    best.offsets = std::move(tried.offsets);
    best.height = tried.height;
  };
  stages.add("stack", best);
  double count = static_cast<double>(rectangles.size()), pairs = 0;
  for (const Preference &preference : kPreferences)
    if (!isDone() && (pairs += 0.5 * count * count) <= kRestrictedPairs)
      keep(firstFit(rectangles, orderBy(preference), effort.deadline, restrictions));
  stages.add("first fit", best);
  if (!isDone() && rectangles.size() <= kMaxEvicted) {
    EvictionSearch eviction(rectangles, best.offsets, restrictions, effort.deadline);
    lower(eviction, rectangles, effort.visits, enough, best);
    stages.add("evictions", best);
  }
  best.stages = std::move(stages.list);
  return best;
}

} // namespace accum::planner
