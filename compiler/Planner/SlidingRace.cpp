// SPDX-License-Identifier: Apache-2.0
// Turns of sliding.
#include "compiler/Planner/SlidingRace.h"
#include <algorithm>

namespace accum::planner {

namespace {

/// What is left of the height above the bound after a turn, and from how little on none is to be left.
constexpr double kStride = 0.8, kNear = 0.0004;
/// What of the way a turn that failed is tried again with.
constexpr double kShorter = 0.5;
/// A turn takes no more than such a part of all effort, and so do the first ones of each together.
constexpr int64_t kShareOfTurn = 8;
/// Such a part of the bound is not worth another turn where one failed, unless just that height is wanted.
constexpr int64_t kLittle = 2000;
/// Of the bound: how much lower it must be for each turn that failed.
constexpr double kHandicap = 0.0005;

} // namespace

void SlidingRace::enter(const Packing &packing) {
  runners.push_back({SlidingEvictions(rectangles, packing.offsets, deadline), packing.height, kStride});
}

bool SlidingRace::isOver() const {
  return deadline.hasPassed() || std::ranges::any_of(runners, [&](const Runner &runner) {
           return runner.height <= enough + (runner.failures > 0 && !isWanted ? enough / kLittle : 0);
         });
}

Packing SlidingRace::run(int64_t visits) {
  int64_t part = visits / kShareOfTurn;
  for (Runner &runner : runners)
    for (int64_t end = spent + part; spent < end && !isOver() && runner.failures == 0;)
      turn(runner, end - spent);
  while (spent < visits && !isOver())
    turn(favourite(), std::min(part, visits - spent));
  const Runner &lowest = *std::ranges::min_element(runners, {}, &Runner::height);
  return {.offsets = lowest.search.offsets(), .height = lowest.height};
}

/// One stride.
void SlidingRace::turn(Runner &runner, int64_t visits) {
  auto above = static_cast<double>(runner.height - enough);
  bool isNear = above < kNear * static_cast<double>(enough);
  int64_t target = enough + (isNear ? 0 : static_cast<int64_t>(runner.stride * above));
  int64_t before = runner.search.visited();
  bool isLower = runner.search.run(target, visits);
  spent += runner.search.visited() - before;
  if (!isLower) {
    runner.stride = 1 - (1 - runner.stride) * kShorter;
    ++runner.failures;
    return;
  }
  runner.height = 0;
  for (size_t index = 0; index < rectangles.size(); ++index)
    runner.height = std::max(runner.height, runner.search.offsets()[index] + rectangles[index].size);
}

SlidingRace::Runner &SlidingRace::favourite() {
  return *std::ranges::min_element(runners, {}, [&](const Runner &runner) {
    return static_cast<double>(runner.height) + runner.failures * kHandicap * static_cast<double>(enough);
  });
}

} // namespace accum::planner
