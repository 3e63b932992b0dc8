// SPDX-License-Identifier: Apache-2.0
// Which heights packings outward in time aim at.
#include "compiler/Planner/OutwardPasses.h"
#include "compiler/Planner/OutwardFit.h"
#include "compiler/Planner/ValleyNoise.h"

namespace accum::planner {

namespace {

/// Above what is enough: the heights aimed at, one after the other.
constexpr double kAbove[] = {0.001, 0, 0.003, 0.006};
/// The part of the effort that all may take.
constexpr int64_t kShare = 8;
constexpr uint64_t kMostPasses = 8;

} // namespace

Packing outwardPasses(std::span<const Rectangle> rectangles, int64_t enough, const PackingEffort &effort,
                      int64_t &visits) {
  Packing lowest{.height = INT64_MAX};
  OutwardFit fit(rectangles, effort.deadline);
  int64_t most = effort.visits / kShare;
  for (uint64_t pass = 0; pass < kMostPasses && lowest.height > enough; ++pass) {
    if (fit.visited() >= most || effort.deadline.hasPassed())
      break;
    auto height = static_cast<int64_t>((1 + kAbove[pass % std::size(kAbove)]) * static_cast<double>(enough));
    uint64_t seed = pass < std::size(kAbove) ? 0 : mix(effort.seed) + pass;
    Packing packing = fit.pack(std::max(height, enough), seed, most - fit.visited());
    if (packing.height < lowest.height)
      lowest = std::move(packing);
  }
  visits -= fit.visited();
  return lowest;
}

} // namespace accum::planner
