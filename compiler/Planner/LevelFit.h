// SPDX-License-Identifier: Apache-2.0
// Valley fit level by level: of many ways to the next level, the one that wastes least where room is dear.
#pragma once
#include "compiler/Planner/CandidateBlocks.h"
#include "compiler/Planner/GreedyWeights.h"
#include "compiler/Planner/LevelFloors.h"
#include "compiler/Planner/OpposedStacks.h"
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

  /// With such stacks before the first level. Spends about `most` visits, as many on each level. Ends with a
  /// height of INT64_MAX where even one way takes twice that, or the deadline passes. A function of its
  /// arguments.
  Packing pack(const OpposedStacks::Setting &stacked, int64_t most, uint64_t seed);
  /// Rectangles looked at so far, over all calls, and what placing them costs: the effort.
  int64_t visited() const { return visits; }

private:
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
    LevelFloors floors;
    size_t placed = 0; ///< of all
    int64_t height = 0;
    double cost = 0;
    std::vector<Placed> done = {};
    std::vector<Waste> wasted = {};
  };
  /// Of time.
  struct Stretch {
    int start, end;
  };
  void setPrices(double level, std::span<const char> isOut);
  CandidateBlocks::Valley valleyOf(const LevelFloors::Run &run, int64_t wall) const;
  void place(Way &way, int position, int64_t offset);
  bool isBetter(const Way &way, const Way &than) const;
  void climb(Way &way, int64_t level, Stretch part, const Way *best = nullptr);
  void accept(Way &way, Packing &packing);
  bool isLate();
  void beginWithStacks(Way &way, const OpposedStacks &stacks, int64_t level, uint64_t seed, Packing &packing);
  void placeRows(Way &way, const OpposedStacks &stacks, bool isEnding, Packing &packing);
  void fillBeside(Way &way, Stretch part, int64_t level, const RowCeilings &ceilings);
  static void raiseTo(Way &way, Stretch part, int64_t height);
  void countWaste(const OpposedStacks &stacks);

  /// On weights, at most.
  static constexpr float kNoise = 0.3F;
  /// Visits that placing one or raising a floor costs.
  static constexpr int64_t kVisitsPerPlaced = 40;

  std::span<const Rectangle> rectangles;
  const GreedyWeights &weights;
  Deadline deadline;
  int horizon;
  double most; ///< the largest load
  CandidateBlocks candidates;
  CandidateBlocks::Choice choice;    ///< of this way
  std::vector<char> isPlaced;        ///< per rectangle: below this level
  std::vector<float> base;           ///< weights before the clock, per rectangle
  std::vector<double> wasted;        ///< per time, of the largest load
  std::vector<double> clock, prices; ///< summed from 0: what gaps are measured by, and what waste costs
  Stretch dear = {};                 ///< where choices among ways are about
  int64_t visits = 0, limit = 0, nextLook = 0;
  bool isOver = false;
};

} // namespace accum::planner
