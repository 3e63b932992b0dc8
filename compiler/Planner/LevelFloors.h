// SPDX-License-Identifier: Apache-2.0
// A skyline that is raised valley by valley, in any order.
#pragma once
#include <cstdint>
#include <vector>

namespace accum::planner {

/// Floors over [0, horizon), at first 0, as runs of equal floors. What fits into one valley fits into no
/// other, so it does not matter which is filled first: this one goes to the nearest, without a heap, and
/// takes few bytes, so that copies are cheap.
class LevelFloors {
public:
  struct Run {
    int start, end;
    int64_t floor;
    int before, behind; ///< neighbours, -1: a wall
  };

  explicit LevelFloors(int horizon) : runs{{0, horizon, 0, -1, -1}} {}

  /// Goes to the run at a time.
  void goTo(int time);
  /// Goes to a run below the level with higher ones beside it, which is then at hand. False where all runs
  /// from the one at hand to a time are at the level; what is in the way of these is looked at wherever it
  /// is.
  bool toValley(int64_t level, int end);
  /// Goes to the lowest run below the level that touches [start, end), and from there on down to a valley,
  /// where `toBottom`, wherever that is. False where there is none below.
  bool toLowest(int start, int end, int64_t level, bool toBottom = true);
  const Run &valley() const { return runs[at]; }
  /// The lower of the two floors beside it; INT64_MAX: walls only.
  int64_t wall() const;
  void raise(int64_t to);
  /// Raises [start, end) of the valley; what is left of it stays on its floor.
  void raise(int start, int end, int64_t to);

private:
  int newRun(int start, int end, int64_t floor, int before, int behind);
  void link(int before, int behind);
  void merge();

  std::vector<Run> runs;
  std::vector<int> unused;
  int at = 0;
};

} // namespace accum::planner
