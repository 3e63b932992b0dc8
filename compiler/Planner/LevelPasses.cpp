// SPDX-License-Identifier: Apache-2.0
// Which passes: with each kind of stacks first, then with the best.
#include "compiler/Planner/LevelPasses.h"
#include "compiler/Planner/LevelFit.h"
#include "compiler/Planner/ValleyNoise.h"
#include <algorithm>
#include <utility>

namespace accum::planner {

namespace {

/// Passes, and what part of the effort each has.
constexpr int64_t kPasses = 6, kShare = 6;
/// Less than such a part of the load is not worth another pass, a quarter of a second, unless it is asked
/// for.
constexpr int64_t kLittle = 500;
/// What they prefer in turns.
constexpr LevelFit::Setting kSettings[] = {
    {10, 0.2, 0.3}, {20, 0.3, 0.6}, {10, 0.4, 0.6}, {10, 0, 0.3}, {20, 0, 0.3}};
/// The stacks that they begin with.
constexpr OpposedStacks::Setting kStacks[] = {{}, {0.01, 0.1}, {0.02, 0.15}, {0.03, 0.3}};

/// Passes that begin with the same stacks.
struct Family {
  OpposedStacks::Setting stacks;
  std::pair<int, int> moments = {};
  double heights = 0; ///< the sum
  int turns = 0;
  double mean() const { return heights / turns; }
};

/// Without stacks first, then those that stack something else than the one before.
std::vector<Family> families(std::span<const Rectangle> rectangles, const GreedyWeights &weights) {
  std::vector<Family> families;
  for (const OpposedStacks::Setting &setting : kStacks) {
    OpposedStacks stacks = opposedStacks(rectangles, weights, setting);
    std::pair<int, int> moments = {stacks.start, stacks.end};
    if (families.empty() || (!stacks.isEmpty() && moments != families.back().moments))
      families.push_back({setting, moments});
  }
  return families;
}

} // namespace

Packing levelPasses(std::span<const Rectangle> rectangles, const GreedyWeights &weights,
                    const PackingEffort &effort, int64_t least) {
  Packing best{.height = INT64_MAX, .lowerBound = maxLoad(rectangles)};
  int64_t part = std::max(effort.visits / kShare, least);
  int64_t enough = effort.enough > 0 ? std::max(best.lowerBound, effort.enough)
                                     : best.lowerBound + best.lowerBound / kLittle;
  std::vector<Family> all = families(rectangles, weights);
  LevelFit levels(rectangles, weights, effort.deadline);
  for (size_t turn = 0; levels.visited() + part <= kPasses * (effort.visits / kShare); ++turn) {
    Family &family = turn < all.size() ? all[turn] : *std::ranges::min_element(all, {}, &Family::mean);
    LevelFit::Setting setting = kSettings[static_cast<size_t>(family.turns) % std::size(kSettings)];
    setting.stacks = family.stacks;
    Packing tried = levels.pack(setting, part, mix(effort.seed) + turn);
    family.heights += static_cast<double>(tried.height);
    ++family.turns;
    if (tried.height < best.height)
      best = std::move(tried);
    if (best.height <= enough || effort.deadline.hasPassed())
      break;
  }
  return best;
}

} // namespace accum::planner
