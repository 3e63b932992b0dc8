// SPDX-License-Identifier: Apache-2.0
// Greedy packing into the valleys of the skyline, lowest first.
#pragma once
#include "compiler/Planner/Packing/Packing.h"
#include <span>
#include <vector>

namespace accum::planner {

/// Fills the lowest valley of the skyline with the rectangle of the highest weight among those that lie
/// inside it, or, where none does, raises its floor to the lower wall. Best-fit of strip packing, for
/// rectangles that cannot move in time. About O(n log n) where lifetimes are short against the step.
class ValleyFit {
public:
  explicit ValleyFit(std::span<const Rectangle> rectangles, Deadline deadline = {});

  /// How much less a rectangle counts that leaves room beside it in the valley: by 1 + gap / scale, where the
  /// gap is the smaller of the two beside it plus `both` times the larger. Scale 0: as much.
  struct Closeness {
    double scale = 0, both = 0;
  };
  /// Weights are per rectangle, zero where they are too small for a double; a rectangle that fills the valley
  /// or ends level with its wall counts double. Gives up, with a height of INT64_MAX, where it would have to
  /// look at more than `most` rectangles, or the deadline passes.
  Packing pack(std::span<const double> weights, int64_t most, const Closeness &closeness);
  /// Rectangles looked at so far, over all calls: the cost.
  int64_t visited() const { return visits; }

private:
  /// A rectangle at its position.
  struct Candidate {
    int start, end;
    int64_t size;
    double weight;
  };
  int nextUnplaced(int index);
  void prepare(std::span<const double> weights);
  /// The position of the best one inside the valley, whose walls leave so much room above its floor, or -1.
  int bestInside(int start, int end, int64_t room, const Closeness &closeness);

  std::span<const Rectangle> rectangles;
  Deadline deadline;
  int horizon = 0;
  int64_t visits = 0;
  std::vector<int> byStart;          ///< rectangles in the order of their starts
  std::vector<int> firstAt;          ///< per time (and one behind): position in byStart
  std::vector<Candidate> candidates; ///< per position
  std::vector<int> skip;             ///< per position: the next one that may be unplaced
};

} // namespace accum::planner
