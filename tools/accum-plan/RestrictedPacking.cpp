// SPDX-License-Identifier: Apache-2.0
// Packing where some are aligned or stand somewhere: first fit, then evictions.
#include "tools/accum-plan/RestrictedPacking.h"
#include "compiler/Planner/Packing/GreedyPacking.h"
#include "tools/accum-plan/EvictionSearch.h"
#include <algorithm>

namespace accum::planner {

namespace {

/// Pair comparisons that one call may spend on first-fit passes: half a second.
constexpr double kRestrictedPairs = 2.2e8;
/// Evictions aim at this part of what is above the bound, and at the bound itself from so near to it on.
constexpr double kStride = 0.8, kNear = 0.001;
/// Rectangles beyond which single moves are not tried: one looks at all that live at the same time.
constexpr size_t kMaxEvicted = 50'000;

/// Lowers a packing step by step, as long as each step is found within what is left of the effort.
void lowerByEvictions(EvictionSearch &eviction, std::span<const Rectangle> rectangles, int64_t visits,
                      int64_t enough, Packing &best) {
  visits += eviction.visited();
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

} // namespace

Packing packRestricted(std::span<const Rectangle> rectangles, std::span<const Restriction> restrictions,
                       const PackingEffort &effort) {
  StageTimer timer;
  GreedyWeights weights(rectangles);
  Packing best = stackUp(rectangles, weights.order(kStacked), restrictions);
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
  timer.add("stack", best);
  double count = static_cast<double>(rectangles.size()), pairs = 0;
  for (const Preference &preference : kPreferences)
    if (!isDone() && (pairs += 0.5 * count * count) <= kRestrictedPairs)
      keep(firstFit(rectangles, weights.order(preference), effort.deadline, restrictions));
  timer.add("first fit", best);
  if (!isDone() && rectangles.size() <= kMaxEvicted) {
    EvictionSearch eviction(rectangles, best.offsets, restrictions, effort.deadline);
    lowerByEvictions(eviction, rectangles, effort.visits, enough, best);
    timer.add("evictions", best);
  }
  return best;
}

} // namespace accum::planner
