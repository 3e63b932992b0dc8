// SPDX-License-Identifier: Apache-2.0
// Which stacks passes begin with.
#include "compiler/Planner/LevelPasses.h"
#include "compiler/Planner/LevelFit.h"
#include "compiler/Planner/ValleyNoise.h"
#include <algorithm>
#include <utility>

namespace accum::planner {

namespace {

/// The part of the effort of a pass, and how many of these one over the valleys may take.
constexpr int64_t kShare = 12, kMostOverValleys = 8;
/// The last one is for two fullest moments less than a life apart.
/// Where stacks are of fewer kinds, passes differ by their noise.
constexpr size_t kFewest = 3;
constexpr OpposedStacks::Setting kStacks[] = {{0.02, 0.15}, {0.03, 0.3}, {0.01, 0.8, 0.4}};

/// Those that stack something, each something else than the one before; none at all: without stacks.
std::vector<OpposedStacks::Setting> kindsOfStacks(std::span<const Rectangle> rectangles,
                                                  const GreedyWeights &weights) {
  std::vector<OpposedStacks::Setting> kinds;
  std::pair<int, int> before;
  for (const OpposedStacks::Setting &setting : kStacks) {
    OpposedStacks stacks = opposedStacks(rectangles, weights, setting);
    std::pair<int, int> moments = {stacks.start, stacks.end};
    if (!stacks.isEmpty() && moments != std::exchange(before, moments))
      kinds.push_back(setting);
  }
  if (kinds.size() < 2) // they may not suit
    kinds.push_back({});
  return kinds;
}

} // namespace

std::vector<Packing> levelPasses(std::span<const Rectangle> rectangles, const GreedyWeights &weights,
                                 const PackingEffort &effort, int64_t least, int64_t &visits) {
  std::vector<Packing> packings;
  int64_t part = effort.visits / kShare;
  if (least > kMostOverValleys * part)
    return packings;
  std::vector<OpposedStacks::Setting> kinds = kindsOfStacks(rectangles, weights);
  LevelFit levels(rectangles, weights, effort.deadline);
  for (size_t pass = 0; pass < std::max(kinds.size(), kFewest); ++pass) {
    if (visits / 2 < levels.visited() + part || effort.deadline.hasPassed())
      break;
    Packing packing = levels.pack(kinds[pass % kinds.size()], part, mix(effort.seed) + pass);
    if (packing.height < INT64_MAX)
      packings.push_back(std::move(packing));
  }
  visits -= levels.visited();
  return packings;
}

} // namespace accum::planner
