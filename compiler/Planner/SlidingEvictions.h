// SPDX-License-Identifier: Apache-2.0
// Packing under a height by sliding rectangles apart, and moving what cannot slide elsewhere.
#pragma once
#include "compiler/Planner/SlidingOrder.h"
#include <span>
#include <vector>

namespace accum::planner {

/// Improves a packing as evictions do, but among rectangles that slide. Many small gaps above each other are
/// one large gap to whatever can push all between them up or down: at a moment where a hundredth is free,
/// nearly everything can be pushed by that much. Only what is held by a chain that is full from bottom to top
/// is in the way. What waits is put in where the least weight is in its way, the heaviest first; that waits
/// in turn and weighs more from now on.
class SlidingEvictions {
public:
  /// Starts from a packing of any height.
  SlidingEvictions(std::span<const Rectangle> rectangles, const std::vector<int64_t> &offsets,
                   Deadline deadline = {});
  SlidingEvictions(SlidingEvictions &&) = default; // the order knows where what it is of lies

  /// Whether all stand below the height, with at most so many more rectangles looked at. Starts from the last
  /// packing that was found, or goes on where that failed for a height which was no larger.
  bool run(int64_t height, int64_t visits);

  int64_t visited() const { return kVisits * (visits + order.visited()); }
  const std::vector<int64_t> &offsets() const { return places; } ///< a packing after `run` returned true

private:
  /// Of other searches, which one of this takes as long as.
  static constexpr int64_t kVisits = 4;
  /// The weight in the way changes by this from a height on.
  struct Change {
    int64_t at;
    double weight;
  };
  /// Of the height, and what changes there.
  struct Part {
    int end = 0;                 ///< of its changes
    double net = 0, falling = 0; ///< their sum, and how much of it is what ends
  };
  void begin(int64_t height);
  int next();
  void putWhereLeast(int index);
  int64_t cutFor(int index);
  void collectChanges(int index);
  void partChanges();

  Deadline deadline;
  std::vector<int> indices;      ///< of the rectangles, by start
  std::vector<Rectangle> sorted; ///< by start
  SlidingOrder order;            ///< of these
  std::vector<double> first;     ///< weights of these
  std::vector<double> weights;   ///< with what they gained since
  std::vector<int64_t> places;   ///< per rectangle
  std::vector<int> waiting, near;
  std::vector<Change> changes, unsorted;
  std::vector<Part> parts;
  int64_t visits = 0;
};

} // namespace accum::planner
