// SPDX-License-Identifier: Apache-2.0
// Several packings that are lowered by sliding, the lowest of them further.
#pragma once
#include "compiler/Planner/SlidingEvictions.h"
#include <deque>

namespace accum::planner {

/// How low a packing can slide depends on chance more than on how low it was. So each has a little effort,
/// and the lowest the rest; it gives way to others each time that it comes to no end.
class SlidingRace {
public:
  /// `isWanted`: what ends above `enough`, however little, is of no use.
  SlidingRace(std::span<const Rectangle> rectangles, int64_t enough, bool isWanted = false,
              Deadline deadline = {})
      : rectangles(rectangles), enough(enough), isWanted(isWanted), deadline(deadline) {}

  /// A packing of all.
  void enter(const Packing &packing);
  /// The lowest that comes of it within so many visits, of at least one that entered.
  Packing run(int64_t visits);

private:
  struct Runner {
    SlidingEvictions search;
    int64_t height;
    double stride; ///< of what is above `enough`: what is left by the next turn
    int failures = 0;
  };
  bool isOver() const;
  void turn(Runner &runner, int64_t visits);
  Runner &favourite();

  std::span<const Rectangle> rectangles;
  int64_t enough;
  bool isWanted;
  Deadline deadline;
  std::deque<Runner> runners; ///< that stay where they are
  int64_t spent = 0;
};

} // namespace accum::planner
