// SPDX-License-Identifier: Apache-2.0
// A skyline as runs of equal floors, the lowest first.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace accum::planner {

/// Floors over [0, horizon), at first 0. Neighbours of one floor are joined; the horizon's ends are walls.
class SkylineRuns {
public:
  struct Run {
    int start, end;
    int64_t floor;
    int before, behind; ///< neighbours, -1: a wall
    bool alive;
  };

  explicit SkylineRuns(int horizon);

  /// The lowest run, of equal ones the one that was made first.
  int lowest();
  const Run &operator[](int run) const { return runs[run]; }
  /// The lower of the two floors beside it; INT64_MAX: walls only.
  int64_t wall(int run) const;
  void raise(int run, int64_t to);
  /// Raises [start, end) of a run; what is left of it stays on its floor.
  void raise(int run, int start, int end, int64_t to);

private:
  int newRun(int start, int end, int64_t floor, int before, int behind);
  void link(int before, int behind);
  void merge(int run);

  std::vector<Run> runs;
  std::vector<std::pair<int64_t, int>>
      heap; ///< (floor, run), lowest first; stale entries are dropped when met
};

} // namespace accum::planner
