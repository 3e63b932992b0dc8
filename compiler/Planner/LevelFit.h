// SPDX-License-Identifier: Apache-2.0
// Valley fit level by level: of many ways to the next level, the one that wastes least where room is dear.
#pragma once
#include "compiler/Planner/GreedyWeights.h"
#include "compiler/Planner/SkylineRuns.h"
#include <span>
#include <vector>

namespace accum::planner {

/// Raises the whole skyline by a hundredth of the largest load at a time, in as many noisy ways as the effort
/// allows, and goes on from the best. Waste at a moment counts the more, the less room is left there for the
/// height that is still to come: what was wasted below makes its moment dearer, and both the greedy choice
/// and the choice among ways follow that. A pass of thousands of rectangles leaves some twenty gaps at the
/// fullest moment, less than one a level, so that one way of few leaves none.
class LevelFit {
public:
  LevelFit(std::span<const Rectangle> rectangles, const GreedyWeights &weights, Deadline deadline = {});

  struct Setting {
    double step = 0.01; ///< height of a level, of the largest load
    double size = 0;    ///< weights grow with such a power of the size
    double load = 30;   ///< and of the largest load that is lived through
  };
  /// Spends about `most` visits, as many on each level. Ends with a height of INT64_MAX where even one way
  /// takes twice that, or the deadline passes. A function of its arguments.
  Packing pack(const Setting &setting, int64_t most, uint64_t seed);
  /// Rectangles looked at so far, over all calls, and what placing them costs: the effort.
  int64_t visited() const { return visits; }

private:
  /// A rectangle in the order of starts, its weight, and what the clock shows at its start and end.
  struct Candidate {
    int start, end;
    int64_t size;
    double weight, from, to;
  };
  struct Waste {
    int start, end;
    double height; ///< of the largest load
  };
  struct Placed {
    int position;
    int64_t offset;
  };
  /// A way up: the skyline, who may be unplaced, and what was done since the last level.
  struct Way {
    SkylineRuns floors;
    std::vector<int> skip; ///< per position: the next one that may be unplaced
    size_t placed = 0;     ///< of all
    int64_t height = 0;
    double cost = 0;
    std::vector<Placed> done = {};
    std::vector<Waste> wasted = {};
  };
  void setPrices(double level);
  bool isBetter(const Way &way, const Way &than) const;
  void climb(Way &way, int64_t level);
  int bestInside(Way &way, const SkylineRuns::Run &run, int64_t wall);
  void accept(Way &way, Packing &packing);
  bool isLate();

  std::span<const Rectangle> rectangles;
  const GreedyWeights &weights;
  Deadline deadline;
  int horizon = 1;
  double most, perUnit; ///< the largest load; one by the room beside a rectangle that halves its weight
  std::vector<int> byStart, firstAt; ///< rectangles by start; per time, the first position
  std::vector<Candidate> candidates; ///< per position
  std::vector<double> base;          ///< weights before the clock, per position
  std::vector<double> wasted;        ///< per time, of the largest load
  std::vector<double> clock, prices; ///< summed from 0: what gaps are measured by, and what waste costs
  std::vector<double> noises;
  size_t salt = 0;      ///< where the noises of this way begin
  double amplitude = 0; ///< of noise
  int64_t visits = 0, limit = 0, nextLook = 0;
  bool isOver = false;
};

} // namespace accum::planner
